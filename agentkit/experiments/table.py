"""An experiment as a table: one line for each variant, with what is known so far; as text and as HTML."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from agentkit.errors import UsageError
from agentkit.experiments.outcome import FAILED, OVER_BUDGET, SCORED, UNSCORED, WAITING
from agentkit.export.tables import Table, to_html, to_text

if TYPE_CHECKING:
    from agentkit.experiments.statistics import Difference, Estimate

_COUNTED = ((FAILED, "failed"), (WAITING, "waiting"), (UNSCORED, "unscored"), (OVER_BUDGET, "over budget"))
_PROBLEMS = 3
"""How many problems are told below the table."""


class Shown(Protocol):
    """What a table shows: an `Experiment`."""

    name: str
    cells: list[Any]
    cases: list[Any]
    variants: list[str]
    failed: str
    cached: int
    began: float
    ended: float
    question: str
    problem: str

    @property
    def status(self) -> str: ...
    @property
    def missing(self) -> list[Any]: ...
    @property
    def problems(self) -> list[Any]: ...
    @property
    def score_names(self) -> list[str]: ...
    @property
    def seconds_left(self) -> float | None: ...

    def scores(self, variant: str, name: str = "") -> dict[str, list[float]]: ...
    def estimate(self, variant: str, name: str = "") -> Estimate | None: ...
    def differences(self, name: str = "") -> list[tuple[str, Difference, float]]: ...
    def count(self, state: str, variant: str = "") -> int: ...


def title(found: Shown) -> str:
    """Return what an experiment consists of, and how far it is."""
    repeats = len(found.cells) // max(1, len(found.cases) * len(found.variants))
    sizes = [_plural(len(found.cases), "case"), _plural(len(found.variants), "variant"), _plural(repeats, "repeat")]
    return f"Experiment {found.name!r}: {' x '.join(sizes)}, {_plural(len(found.cells), 'run')}; {progress(found)}"


def progress(found: Shown) -> str:
    """Return how many runs are over, what they have cost, and how long the rest will take."""
    done = len(found.cells) - len(found.missing)
    parts = [f"{done:,} done"]
    if found.cached:
        parts.append(f"{found.cached:,} of them known before")
    if found.missing:
        parts.append(f"{len(found.missing):,} missing")
    if cost := sum(cell.outcome.cost + cell.outcome.judging for cell in found.cells if cell.outcome):
        parts.append(f"cost so far {money(cost)}")
    if found.status == "running" and (left := found.seconds_left) is not None:
        parts.append(f"about {duration(left)} left")
    return ", ".join(parts) + {"stopped": " (stopped)", "asks": " (it asks)", "broken": " (broken)"}.get(
        found.status, ""
    )


def summary(found: Shown) -> Table:
    """Return a table with one line for each variant."""
    names = found.score_names
    counted = [(state, label) for state, label in _COUNTED if found.count(state)]
    figures = [part for name in names for part in (name, "95 %")]
    header = ["", *figures, "scored", *(label for _, label in counted), "calls", "tokens", "cost", "median s"]
    rows = []
    for variant in found.variants:
        outcomes = [cell.outcome for cell in found.cells if cell.variant == variant and cell.outcome]
        means = [part for name in names for part in _figure(found.estimate(variant, name))]
        counts = [f"{found.count(state, variant)}" for state, _ in counted]
        used = [_average(outcomes, "calls", "{:.1f}"), _average(outcomes, "tokens", "{:,.0f}")]
        cost = sum(outcome.cost for outcome in outcomes)
        used += [money(cost) if cost else "", f"{median(o.seconds for o in outcomes):.2f}" if outcomes else ""]
        rows.append([variant, *means, f"{found.count(SCORED, variant)}", *counts, *used])
    return Table(header, rows)


def notes(found: Shown) -> list[str]:
    """Return what has to be said about a table: what counts as 0, how sure judges are, and what went wrong."""
    told = []
    if found.question:
        told.append(found.question)
    if found.problem:
        told.append(found.problem)
    told.append(_about_figures(found))
    told += _differences(found)
    told += [_about_judges(found, name) for name in found.score_names]
    if judging := sum(cell.outcome.judging for cell in found.cells if cell.outcome):
        told.append(f"The judges cost {money(judging)}, which is not in the column.")
    problems = found.problems
    told += [repr(cell) for cell in problems[:_PROBLEMS]]
    if len(problems) > _PROBLEMS:
        told.append(f"… and {len(problems) - _PROBLEMS:,} more with a problem; found.problems lists them")
    return [each for each in told if each]


def _about_figures(found: Shown) -> str:
    if not any(found.scores(variant) for variant in found.variants):
        return ""
    lost = found.count(FAILED) + found.count(OVER_BUDGET)
    zero = "count as 0" if found.failed == "zero" else "are left out"
    told = f"; runs that failed or were over budget {zero}" if lost else ""
    return f"Scores are means over the cases, with 95 % intervals{told}."


def _about_judges(found: Shown, name: str) -> str:
    spreads = [c.outcome.spreads[name] for c in found.cells if c.outcome and name in c.outcome.spreads]
    if not spreads:
        return ""
    unsure = sum(spread > 0 for spread in spreads)
    return (
        f"The judge of {name!r} contradicts itself in {unsure:,} of {len(spreads):,} runs, by {mean(spreads):.2f} on "
        "average (standard deviation); differences that are smaller say nothing."
    )


def _figure(estimate: Estimate | None) -> tuple[str, str]:
    """Return a mean score and its interval as text."""
    return (f"{estimate.value:.3f}", f"[{estimate.low:.3f}, {estimate.high:.3f}]") if estimate else ("", "")


def _differences(found: Shown) -> list[str]:
    """Return what can be said about the variants, compared with the first one; nothing while runs are missing."""
    if found.missing or len(found.variants) < 2:
        return []
    told = []
    for name in found.score_names:
        for variant, difference, p in found.differences(name):
            about = f"{name}: " if len(found.score_names) > 1 else ""
            corrected = f", with p {p:.3f} for several variants (Holm)" if len(found.variants) > 2 else ""
            verdict: str = difference.verdict(p)
            if verdict == "cannot tell" and difference.smallest < math.inf:
                verdict += f": so many cases would show a difference of about {difference.smallest:.2f}"
            told.append(f"{about}{variant} - {found.variants[0]}: {difference}{corrected}; {verdict}")
    return told


def mean(values: Iterable[float]) -> float:
    """Return the arithmetic mean of at least one number."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def median(values: Iterable[float]) -> float:
    """Return the median of at least one number."""
    listed = sorted(values)
    return mean(listed[(len(listed) - 1) // 2 : len(listed) // 2 + 1])


def _average(outcomes: list[Any], name: str, form: str) -> str:
    return form.format(mean(getattr(outcome, name) for outcome in outcomes)) if outcomes else ""


def text(found: Shown) -> str:
    """Return the table of an experiment as plain text."""
    return "\n".join([title(found), to_text(summary(found), cell_width=40), *notes(found)])


def html(found: Shown) -> str:
    """Return the table of an experiment as HTML, with a bar while it is running."""
    from agentkit.export.escaping import escape_html
    from agentkit.export.html import fragment

    done, all_of_them = len(found.cells) - len(found.missing), len(found.cells)
    bar = f'<progress value="{done}" max="{all_of_them}" style="width:20em"></progress>' if found.missing else ""
    below = "".join(f"<p><i>{escape_html(note)}</i></p>" for note in notes(found))
    return fragment(f"<p><b>{escape_html(title(found))}</b></p>{bar}", to_html(summary(found), max_rows=None), below)


def record(cell: Any) -> dict[str, Any]:
    """Return one run as a dict: variant, case, repeat, run, state, scores, and what it used."""
    outcome = cell.outcome
    about = {"variant": cell.variant, "case": cell.case.id, "repeat": cell.repeat, "run": cell.run_name}
    names = ("answer", "problem", "reason", "calls", "tool_calls", "tokens", "cost", "judging", "seconds")
    used = {name: getattr(outcome, name) if outcome else None for name in names}
    return {**about, "state": cell.state, **cell.scores, **used}


def to_frame(records: Iterable[dict[str, Any]]) -> Any:
    """Return records as a pandas DataFrame. Raises `UsageError` if pandas is not installed."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise UsageError('a data frame needs pandas: pip install "jupyter-agentkit[frame]"') from error
    return pandas.DataFrame(list(records))


def numbers(scores: Mapping[str, float]) -> str:
    """Return scores as text."""
    return ", ".join(f"{name} {value:.3g}" for name, value in scores.items())


def money(cost: float) -> str:
    """Return an amount of money as text."""
    return f"${cost:,.2f}" if cost >= 0.1 else f"${cost:.2g}"


def duration(seconds: float) -> str:
    """Return a duration as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
