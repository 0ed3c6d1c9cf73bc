"""An experiment as a table: one line for each variant, with what is known so far; as text and as HTML."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agentkit.errors import UsageError
from agentkit.experiments.outcome import FAILED, OVER_BUDGET, SCORED, UNSCORED, WAITING
from agentkit.export.tables import Table, to_html, to_text

if TYPE_CHECKING:
    from agentkit.experiments.statistics import Difference, Estimate

COUNTED = (FAILED, WAITING, UNSCORED, OVER_BUDGET)
"""The states that have a column if they occur."""
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
    def __getitem__(self, key: Any) -> Any: ...


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


@dataclass(slots=True)
class Line:
    """What is known of a variant: an estimate for each score that has one, how many runs are in which state, and what
    a run uses on average. `cost` is the sum of all of its runs, and `seconds` a median.
    """

    variant: str
    estimates: dict[str, Estimate]
    counts: Counter[str]
    calls: float | None = None
    tokens: float | None = None
    cost: float = 0.0
    seconds: float | None = None


def lines(found: Shown) -> list[Line]:
    """Return what is known of each variant."""
    names = found.score_names
    told = []
    for variant in found.variants:
        cells = found[variant]
        outcomes = [cell.outcome for cell in cells if cell.outcome]
        estimates = {name: each for name in names if (each := found.estimate(variant, name)) is not None}
        line = Line(variant, estimates, Counter(cell.state for cell in cells))
        if outcomes:
            line.calls, line.tokens = mean(o.calls for o in outcomes), mean(o.tokens for o in outcomes)
            line.cost, line.seconds = sum(o.cost for o in outcomes), median(o.seconds for o in outcomes)
        told.append(line)
    return told


def summary(found: Shown) -> Table:
    """Return a table with one line for each variant."""
    told, names = lines(found), found.score_names
    counted = [state for state in COUNTED if any(line.counts[state] for line in told)]
    figures = [part for name in names for part in (name, "95 %")]
    header = ["", *figures, "scored", *counted, "calls", "tokens", "cost", "median s"]
    rows = []
    for line in told:
        means = [part for name in names for part in _figure(line.estimates.get(name))]
        counts = [f"{line.counts[state]}" for state in (SCORED, *counted)]
        used = [_number(line.calls, "{:.1f}"), _number(line.tokens, "{:,.0f}")]
        used += [money(line.cost) if line.cost else "", _number(line.seconds, "{:.2f}")]
        rows.append([line.variant, *means, *counts, *used])
    return Table(header, rows)


def notes(found: Shown) -> list[str]:
    """Return what has to be said about a table: what counts as 0, how sure judges are, and what went wrong."""
    told = []
    if found.question:
        told.append(found.question)
    if found.problem:
        told.append(found.problem)
    told += [*remarks(found), *(comparison.text for comparison in comparisons(found))]
    problems = found.problems
    told += [repr(cell) for cell in problems[:_PROBLEMS]]
    if len(problems) > _PROBLEMS:
        told.append(f"… and {len(problems) - _PROBLEMS:,} more with a problem; found.problems lists them")
    return told


def remarks(found: Shown) -> list[str]:
    """Return what has to be known to read the figures: what counts as 0, and how sure judges are."""
    told = [_about_figures(found)]
    told += [_about_judges(found, name) for name in found.score_names]
    if judging := sum(cell.outcome.judging for cell in found.cells if cell.outcome):
        told.append(f"The judges cost {money(judging)}, which is not in the column.")
    return [each for each in told if each]


def _about_figures(found: Shown) -> str:
    if not any(found.scores(variant) for variant in found.variants):
        return ""
    lost = found.count(FAILED) + found.count(OVER_BUDGET)
    zero = "count as 0" if found.failed == "zero" else "are left out"
    told = f"; runs that failed or were over budget {zero}" if lost else ""
    clusters = {case.cluster for case in found.cases} - {None}
    unit = f" that rest on {_plural(len(clusters), 'cluster')} of them" if clusters else ""
    return f"Scores are means over the cases, with 95 % intervals{unit}{told}."


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


@dataclass(slots=True)
class Comparison:
    """A variant compared with the first one in one score: the difference, and what it tells, in words.

    `title` says what is compared, `counts` on how many cases which one was better, and `hint` what cannot be told.
    """

    score: str
    variant: str
    difference: Difference
    verdict: str
    title: str
    counts: str
    hint: str

    @property
    def text(self) -> str:
        """All of it as a line."""
        estimate = self.difference.estimate
        interval = f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        hint = f": {self.hint}" if self.hint else ""
        return f"{self.title}: {interval}; {self.counts}; {self.verdict}{hint}"


def comparisons(found: Shown) -> list[Comparison]:
    """Return what can be said about the variants, compared with the first one; nothing while runs are missing."""
    from agentkit.experiments.statistics import p_text

    if found.missing or len(found.variants) < 2:
        return []
    told = []
    for name in found.score_names:
        for variant, difference, p in found.differences(name):
            about = f"{name}: " if len(found.score_names) > 1 else ""
            corrected = f", {p_text(p)} corrected for several variants (Holm)" if len(found.variants) > 2 else ""
            verdict, hint = difference.verdict(p), ""
            if verdict == "cannot tell" and difference.smallest < math.inf:
                hint = f"this many cases would show a difference of about {difference.smallest:.2f}"
            title = f"{about}{variant} - {found.variants[0]}"
            counts = f"{str(difference).partition('; ')[2]}{corrected}"
            told.append(Comparison(name, variant, difference, verdict, title, counts, hint))
    return told


def mean(values: Iterable[float]) -> float:
    """Return the arithmetic mean of at least one number."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def median(values: Iterable[float]) -> float:
    """Return the median of at least one number."""
    listed = sorted(values)
    return mean(listed[(len(listed) - 1) // 2 : len(listed) // 2 + 1])


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


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
    if cell.case.cluster is not None:
        about["cluster"] = cell.case.cluster
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
