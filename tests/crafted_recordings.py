"""Recordings that try to do harm when somebody opens them: mutations of real ones, and some made by hand.

`crafted(size)` yields the files; run as a program, this module opens those that it is told, each by its door, under an
audit hook, and prints one JSON object per file: whether code ran, the type of an error, and the peak of memory.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import resource
import sqlite3
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agentkit import Agent, Call, Loop, Reply, load
from agentkit.agent import persona
from agentkit.errors import AgentkitError
from agentkit.export import json as recording
from agentkit.export import prose, to_html, to_json, to_markdown, to_notebook
from agentkit.export.notebook import source_digest
from agentkit.export.playback import playback
from agentkit.journal.chain import START, link
from agentkit.models import Cassette, Scripted, Tape
from agentkit.models.base import Abilities
from agentkit.serve.agui import Agui
from agentkit.serve.frames import Frames
from agentkit.serve.log import Log
from agentkit.tools.tool import Tool

CANARY = "crafted_canary"
CODE = (f"{CANARY}:engine", "builtins:print", "ipykernel.embed:embed_kernel", "os:system", "json:dumps", f"{CANARY}:x")
AGENT = ("roles", "settings", "discover", "arounds", "completion_markers", "window", "max_tool_calls", "select_tools")
DOORS = ("load", "adopt", "notebook", "resume", "playback", "cassette", "tape", "persona")


class Crafted(NamedTuple):
    """A file, the door by which it is opened, what is special about it, and the engine of whoever opens it."""

    door: str
    label: str
    content: bytes
    engine: str = "reflexion"


# -- real recordings ---------------------------------------------------------------------------------------------------


def look(city: str = "", **more: Any) -> dict[str, Any]:
    """Return the weather of a city."""
    return {"city": city, "rows": [[1, 2.5, None], ["x", True, {}]]}


def tools() -> list[Tool]:
    return [Tool("look", "Look.", {"type": "object"}, look, effect="irreversible")]


PLAN = '{"steps": [{"id": "1", "task": "look"}, {"id": "2", "task": "tell", "after": ["1"]}]}'
SCRIPTS: dict[str, list[Any]] = {
    "react": [
        Reply("a" * 40 + "!", (Call("look", {"city": "Oslo"}, "a"), Call("look", {"city": "Rome"}, "b"))),
        "rain",
    ],
    "reflexion": ["a", "UNSATISFACTORY", "look better", "b", "SATISFACTORY"],
    "plan_and_execute": ["1. look\n2. tell", "rain", "told", "rain"],
    "tree_of_thoughts": ["one", "two", "three", "5", "6", "7"] * 6,
    "dag": [PLAN, "rain", "told", "ANSWER: rain", "CONFIDENCE: 1"] * 3,
}


def recorded(engine: str) -> dict[str, Any]:
    """Return the data of a run with an edit, an injected message and an undo."""
    nested = {} if engine in ("react", "tree_of_thoughts") else {"actor": {"engine": "react", "max_iterations": 3}}
    model = Scripted([*SCRIPTS[engine], *["FINAL ANSWER: rain"] * 40], abilities=Abilities(tools=True))
    guards: Any = {"budget": {"max_tokens": 10**6}, "repeat": {"look": "ask"}}
    run = Agent(model, tools(), engine=Loop(engine, **nested), journal="memory", **guards).start("rain?", paused=True)
    run.break_at(role="none")
    run.inject("be brief")
    run.drive()
    run.edit(1, text="edited", reason="why not")
    run.drive()
    run.undo()
    data: dict[str, Any] = json.loads(json.dumps(to_json(run)))
    return data


def with_new_digests(data: dict[str, Any]) -> dict[str, Any]:
    """Compute all digests again, as an attacker would."""
    before = ""
    for record in data["rows"]:
        if isinstance(record, dict):
            with contextlib.suppress(Exception):
                record["digest"] = before = recording._chained_digest(before, record)
    data["digest"] = before
    return data


# -- changes -----------------------------------------------------------------------------------------------------------


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def engines(depth: int, inner: str) -> Any:
    spec: Any = inner
    for _ in range(depth):
        spec = {"engine": "reflexion", "actor": spec}
    return spec


HOSTILE: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1 << 40,
        10**400,
        1e308,
        float("nan"),
        float("inf"),
        "",
        "x",
        "\ud800",
        "\0",
        "x" * 5000,
        [],
        {},
    ),
    *(
        [[]],
        {"a": 1},
        {"engine": CODE[0]},
        CODE[0],
        CODE[1],
        nested(0, 300),
        [0] * 500,
        {"$ref": "#/$defs/a"},
        "/etc/passwd",
    ),
    *("(a+)+$", "<script>alert(1)</script>", "\x1b]52;c;AAAA\x07", ".1" * 600, "[0.0]" * 90, "[1.1<1", -(1 << 70)),
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def put(data: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


def mutated(data: dict[str, Any], choose: random.Random) -> tuple[str, dict[str, Any]]:
    """Return a recording with one to three values replaced, removed, repeated or exchanged, and valid digests."""
    data, done = copy.deepcopy(data), []
    for _ in range(choose.choice((1, 1, 2, 3))):
        least = choose.choice((0, 2, 4))
        path = choose.choice([path for path in places(data) if path[-1] != "digest" and len(path) >= least])
        how = choose.choice(("replace", "replace", "replace", "remove", "double", "borrow"))
        holder: Any = data
        for key in path[:-1]:
            holder = holder[key]
        if how == "remove":
            del holder[path[-1]]
        elif how == "double" and isinstance(holder, list):
            holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
        elif how == "borrow":
            holder[path[-1]] = copy.deepcopy(holder[choose.choice(list(holder))] if isinstance(holder, dict) else 0)
        else:
            holder[path[-1]] = copy.deepcopy(choose.choice(HOSTILE))
        done.append(f"{how} {'/'.join(map(str, path))}")
        if not isinstance(data.get("rows"), list):
            break
    if choose.random() < 0.7 and isinstance(data.get("rows"), list):
        for number, record in enumerate(data["rows"], 1):
            if isinstance(record, dict) and choose.random() < 0.9:
                record["id"] = number
    return ", ".join(done), with_new_digests(data) if isinstance(data.get("rows"), list) else data


def with_options(data: dict[str, Any], options: Any, **more: Any) -> dict[str, Any]:
    """Return a recording that was started with other options, and perhaps another engine."""
    data = copy.deepcopy(data)
    spec = data["rows"][0]["row"]["result"]["json"]
    spec.update(options=options, **more)
    return with_new_digests(data)


def by_hand(base: dict[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield recordings whose options, engines, depth and numbers are hostile."""
    reflexion, react, dag = base["reflexion"], base["react"], base["dag"]
    for code in CODE:
        yield f"actor {code}", with_options(reflexion, {"actor": code})
        yield f"actor engine {code}", with_options(reflexion, {"actor": {"engine": code, "exec_lines": ["1/0"]}})
        yield f"engine {code}", with_options(reflexion, {}, engine=code)
        yield f"fork {code}", fork(reflexion, {"engine": code, "options": {"actor": code}})
    for depth in (5, 30, 300):
        yield f"{depth} engines deep", with_options(reflexion, {"actor": engines(depth, "react")})
    for value in HOSTILE:
        yield f"options {value!r:.30}", with_options(reflexion, {"max_reflections": value})
        yield f"actor {value!r:.30}", with_options(reflexion, {"actor": value})
        yield f"limit {value!r:.30}", with_options(react, {"max_iterations": value})
        yield f"plan {value!r:.30}", with_options(dag, {"max_steps": value, "max_parallel": value})
    yield "wide tree", with_options(base["tree_of_thoughts"], {"n_branches": 1000, "beam_width": 10**9})
    schemas = (
        {"$ref": "#"},
        {"type": "string", "pattern": "(a+)+$"},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    )
    for schema in schemas:
        output = {"name": "City", "schema": schema, "type": f"{CANARY}:City"}
        yield f"schema {schema!r:.40}", with_options(react, {}, output=output)
    yield "type of a module", with_options(react, {}, output={"name": "x", "schema": {}, "type": "os:environ.copy"})
    for value in HOSTILE:
        for guard in ("approve", "budget", "repeat", "remembered", "breakpoints"):
            yield f"{guard} {value!r:.30}", with_options(react, {}, guards={guard: value})
        for name in AGENT:
            yield f"{name} {value!r:.30}", with_options(react, {}, agent={name: value})
        for name in ("model", "dialect", "tools", "needs", "agent", "guards"):
            yield f"{name} {value!r:.30}", with_options(react, {}, **{name: value})
            yield f"changed {name} {value!r:.30}", noted(react, "changed", {name: value, "author": "x"})
            yield f"fork {name} {value!r:.30}", fork(react, {name: value})
    session = {"id": "s", "user": "u", "turns": 10**9, "upto": 5}
    yield "session", with_options(react, {}, session=session, history=[{"role": "user", "text": "x"}])
    for runs in ([], [react["runs"][0]] * 3, [{**react["runs"][0], "parent": react["runs"][0]["run"]}]):
        yield "runs", with_new_digests({**copy.deepcopy(react), "runs": runs})


def fork(data: dict[str, Any], changes: Any) -> dict[str, Any]:
    return noted(data, "head", {"why": "fork", "keep": 1, "then": [], "changes": changes})


def noted(data: dict[str, Any], kind: str, more: dict[str, Any]) -> dict[str, Any]:
    """Return a recording with another note at the end."""
    data = copy.deepcopy(data)
    row = {"note": kind, "at": 1.0, "data": more}
    data["rows"].append({"id": len(data["rows"]) + 1, "run": data["run"], "row": row})
    return with_new_digests(data)


# -- files -------------------------------------------------------------------------------------------------------------


def as_text(data: Any) -> bytes:
    return json.dumps(data).encode()


def as_notebook(data: Any, packed: str = "") -> bytes:
    """Return an exported notebook whose packed recording was replaced, with the digests that belong to it."""
    notebook = json.loads(_template())
    for cell in notebook["cells"]:
        if cell["metadata"]["agentkit"]["cell"] == "recording":
            start, _, rest = cell["source"].partition("recording = (")
            end = rest[rest.index(")") :]
            cell["source"] = f'{start}recording = (\n    "{packed or recording.pack(data)}"\n{end}'
            cell["metadata"]["agentkit"]["digest"] = source_digest(cell["source"])
    return json.dumps(notebook).encode()


_made: dict[str, bytes] = {}


def _template() -> bytes:
    if "notebook" not in _made:
        run = Agent(Scripted(["rain"]), journal="memory").run("rain?").run
        _made["notebook"] = json.dumps(to_notebook(run)).encode()
    return _made["notebook"]


def as_journal(data: dict[str, Any]) -> bytes:
    """Return a journal file with these rows and a valid chain of hashes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        agent = Agent(Scripted(["rain"]), journal=path)
        run = agent.start("rain?", paused=True)
        run.close()
        agent.journal.close()  # type: ignore[union-attr]
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = DELETE")
        (tree,) = db.execute("SELECT tree FROM runs").fetchone()
        db.execute("DELETE FROM rows")
        before, number = START, 0
        for number, record in enumerate(data["rows"], 1):
            lines = [record["row"], *record.get("new", ())]
            body = "\n".join(
                line if isinstance(line, str) else (recording.dumps if n == 0 else recording._canonical)(line)
                for n, line in enumerate(lines)
            )
            before = link(before, number, run.id, 1.0, body)
            db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", ((tree << 32) + number, run.id, 1.0, body, before))
        db.execute("UPDATE trees SET sealed_row = ?, sealed_hash = ?", (number, before))
        db.commit()
        db.close()
        return path.read_bytes()


def recordings(size: int, base: dict[str, dict[str, Any]], seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    choose = random.Random(seed)
    hand = list(by_hand(base))
    choose.shuffle(hand)
    yield from hand[: size * 2 // 5]
    for _ in range(size - size * 2 // 5):
        name = choose.choice(list(base))
        label, data = mutated(base[name], choose)
        yield f"{name}: {label}", data


def crafted(size: int, seed: int = 12) -> Iterator[Crafted]:
    """Yield about `size` files: most are recordings, each by one door, and the rest other files and texts."""
    base, others = {engine: recorded(engine) for engine in SCRIPTS}, list(other_files())
    for number, (label, data) in enumerate(recordings(max(size - len(others), size // 2), base, seed)):
        door = DOORS[number % 5]
        make: Callable[[Any], bytes] = {"notebook": as_notebook, "resume": as_journal}.get(door, as_text)
        try:
            yield Crafted(
                door, label, make(data), engine if (engine := label.partition(":")[0]) in base else "reflexion"
            )
        except Exception:  # it cannot be written in this form
            yield Crafted("load", label, as_text(data))
    random.Random(seed).shuffle(others)
    yield from others[: size - size // 2]


def other_files() -> Iterator[Crafted]:
    """Yield files that are not quite recordings, cassettes, tapes and personas."""
    deep = b"[" * 100_000 + b"]" * 100_000
    texts = (
        b"",
        b"null",
        b"[]",
        b"5",
        deep,
        b'{"a":' * 100_000,
        b"1" * 10_000,
        b'"' + b"x" * 1_000_000,
        b"\xff\xfe\x00",
        b"{}",
    )
    for door in DOORS:
        for text in texts:
            yield Crafted(door, f"text {text[:20]!r}", text)
    reply = {"text": "x"}
    for recordings in (
        [5],
        [[]],
        [{}],
        [{"key": 5, "request": {}, "reply": {}}],
        [{"key": "x", "request": 5, "reply": reply}],
    ):
        yield Crafted("cassette", f"recordings {recordings}", as_text({"recordings": recordings}))
    for name, value in (
        ("calls", 5),
        ("calls", [5]),
        ("usage", {"input": "x"}),
        ("usage", [1]),
        ("text", 5),
        ("colour", 1),
    ):
        content = {"recordings": [{"key": "k", "request": {}, "reply": {**reply, name: value}}]}
        yield Crafted("cassette", f"reply {name} {value}", as_text(content))
    for more in ({"abilities": 5}, {"model": 5}, {"agentkit_cassette": []}, {"abilities": {"tools": "x"}}):
        yield Crafted("cassette", str(more), as_text({"recordings": [], **more}))
    for exchange in (
        5,
        {},
        {"request": {"url": 5}},
        {"request": {"method": "GET", "url": "u", "body": {}}, "response": {"status": 1e999}},
    ):
        yield Crafted("tape", str(exchange), as_text({"agentkit_tape": 1, "exchanges": [exchange]}))
    for solvers in (5, [5], [[]], {}, CODE[0], [CODE[0], "json:dumps"], {"a": 1}, "react"):
        yield Crafted("persona", f"solvers {solvers}", as_text({"solvers": solvers}))
    for name in ("brain", "model", "tools", "toolboxes", "roles", "journal", "discover", "arounds", "budget", "actor"):
        for value in (5, [5], {"a": 1}, CODE[0], "http://127.0.0.1:9/v1", "http://169.254.169.254/latest", "\0\ud800"):
            options = {"solvers": ["reflexion"], "plugin-config": {"reflexion": {name: value}}}
            yield Crafted("persona", f"{name} {value!r}", as_text(options))
    bomb = zlib.compress(b'{"format":' + b" " * (1 << 28), 9)
    yield Crafted("notebook", "zlib bomb", as_notebook(None, recording.base64.b64encode(bomb).decode()))


# -- large files -------------------------------------------------------------------------------------------------------

SMALL = {"format": recording.FORMAT, "version": recording.VERSION}


def large(kind: str, size: int = 2 << 20) -> bytes:
    """Return a file of about `size` bytes whose content takes as much memory as possible."""
    data = recorded("react")
    run, last = data["run"], len(data["rows"])
    junk = {"lists": "[0],", "dicts": '{"":0},', "empty": "{},", "strings": '"ab",', "numbers": "1.5,"}
    if kind in junk:
        return as_text(with_note(data, f"[{junk[kind] * (size // len(junk[kind]))}0]"))
    if kind == "packed text":  # as much as is accepted: part of it cannot be compressed, the rest very well
        text = random.Random(1).randbytes(size * 3 // 4).hex() + "rain " * (2 * size)
        return as_notebook(with_note(data, json.dumps([text])))
    if kind.startswith("packed "):
        inner = junk[kind.removeprefix("packed ")]
        text = json.dumps(with_note(data, '["JUNK"]')).replace('"JUNK"', inner * ((64 << 20) // len(inner)) + "0")
        return as_notebook(None, recording.base64.b64encode(zlib.compress(text.encode(), 9)).decode())
    if kind == "text in text":
        row = json.dumps({"note": "news", "at": 0.0, "data": {"x": "JUNK"}}).replace(
            '"JUNK"', f"[{'[0],' * (size // 4)}0]"
        )
        data["rows"].append({"id": last + 1, "run": run, "row": row})
    elif kind == "injected messages":
        messages = [json.dumps({"notes": [f"n{n}"], "role": "user", "text": ""}) for n in range(size // 90)]
        row = copy.deepcopy(next(record for record in data["rows"] if "new" in record and "step" in record["row"]))
        names = [recording.digest(message.encode()) for message in messages]
        row["row"]["step"]["chat"] = {"is": "x", "past": "0" * 32, "then": names}
        data["rows"] = [data["rows"][0], {**row, "id": 2, "new": [*row["new"], *messages]}]
    elif kind == "lines":
        ask = {"do": "ask", "role": "question", "question": "?", "choices": []}
        base = last + size // 750
        for number in range(last + 1, base + size // 500):
            if number < base or number % 2:
                row = {"entry": "ask", "parent": 1, "path": "", "index": number, "step": ask, "result": {"json": "a"}}
            else:
                row = {"note": "head", "at": 0.0, "data": {"why": "edit", "keep": base - last - 20, "then": []}}
            data["rows"].append({"id": number, "run": run, "row": row})
    return (
        as_text(with_new_digests(data))
        if kind != "journal"
        else as_journal(with_note(data, f"[{'[0],' * (size // 4)}0]"))
    )


def with_note(data: dict[str, Any], junk: str) -> dict[str, Any]:
    record = {"id": len(data["rows"]) + 1, "run": data["run"], "row": {"note": "news", "data": {"x": json.loads(junk)}}}
    return with_new_digests({**data, "rows": [*data["rows"], record]})


LARGE = (
    "lists",
    "dicts",
    "empty",
    "strings",
    "numbers",
    "packed empty",
    "packed strings",
    "packed text",
    "text in text",
)
LARGE += ("injected messages", "lines", "journal")


# -- the child that opens them -----------------------------------------------------------------------------------------

_ran: list[str] = []
_is_watching = False
_is_ours: tuple[str, ...] = ()


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Note anything that a file must not cause: code, processes, connections, writing outside of the journal."""
    if not _is_watching:
        return
    if event == "import":
        name = str(arguments[0]).partition(".")[0]
        if name == CANARY or (name not in sys.modules and name not in sys.stdlib_module_names):
            _ran.append(f"import {arguments[0]}")
    elif event == "exec":
        file = getattr(arguments[0], "co_filename", "<string>")
        if not file.startswith((*_is_ours, "<frozen", "<string>")) or CANARY in file:
            _ran.append(f"exec {file}")
    elif event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "ctypes.dlopen"):
        _ran.append(event)
    elif event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        _ran.append(f"{event} {arguments[1:]!r:.80}")
    elif event == "open" and isinstance(arguments[0], str | bytes) and isinstance(arguments[2], int):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if arguments[2] & (os.O_WRONLY | os.O_RDWR) and not path.startswith(os.environ["AGENTKIT_HOME"]):
            _ran.append(f"open {path}")


def open_by(door: str, path: Path, engine: str) -> str:
    """Open a file, look at everything that it shows, and return what happened."""
    agent = Agent("offline", tools(), engine=engine, journal="memory")
    if door == "persona":
        loaded = persona.load(json.loads(path.read_bytes()), journal="memory")
        return f"opened {loaded!r:.40}"
    if door == "cassette":
        return f"opened {Cassette(path)!r:.40}"
    if door == "tape":
        return f"opened {Tape(path)!r:.40}"
    if door == "playback":
        return f"opened {playback(recording=json.loads(path.read_bytes()))!r:.40}"
    if door == "resume":
        durable = Agent("offline", tools(), engine=engine, journal=path)
        journal = durable.journal
        try:
            name = next((info.run for info in journal.runs()), "none")  # type: ignore[union-attr]
            looked_at(durable.look(name))
            return looked_at(durable.resume(name))
        finally:
            journal.close()  # type: ignore[union-attr]
    run = agent.load(json.loads(path.read_bytes())) if door == "adopt" else load(path)
    return looked_at(run)


def looked_at(run: Any) -> str:
    """Look at a run in every way, and change it as a person would who only reads it."""
    for look_at in (repr, str, to_json, to_markdown, to_html, lambda run: list(run.events()), lambda run: run.where()):
        look_at(run)
    for encoder in (Frames, Agui):
        Log.of(run, encoder).so_far()
    _ = run.answer, run.result, run.pending, run.waiting, run.usage, run.hold, run.forecast, run.branches(), run.entries
    with contextlib.suppress(AgentkitError):
        run.undo()
        run.redo()
    return f"{run.status}: {run.read_only}"


def outcome(door: str, path: Path, engine: str) -> dict[str, Any]:
    """Open one file, and say what came of it."""
    global _is_watching
    _ran.clear()
    printed, kind, text = io.StringIO(), "", ""
    _is_watching = True
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            text = open_by(door, path, engine)
    except AgentkitError as error:
        kind, text = type(error).__name__, str(error)
    except json.JSONDecodeError as error:  # the test itself reads the file of a persona, as its user does
        kind, text = "json", str(error)
    except (ValueError, RecursionError) as error:
        own = door in ("persona", "adopt", "playback") and "json" in _raised_in(error)
        kind, text = "json" if own else f"untyped {type(error).__name__}", f"{error} {_raised_in(error)}"
    except BaseException as error:
        kind, text = f"untyped {type(error).__name__}", f"{error} {_raised_in(error)}"
    finally:
        _is_watching = False
    if f"{CANARY}" in sys.modules:
        _ran.append(CANARY)
    return {"error": kind, "text": text[:300], "ran": list(_ran), "printed": printed.getvalue()[:300]}


def _raised_in(error: BaseException) -> str:
    traceback = error.__traceback__
    places = []
    while traceback:
        code = traceback.tb_frame.f_code
        places.append(f"{Path(code.co_filename).parent.name}/{Path(code.co_filename).name}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return " ".join(dict.fromkeys(places[-6:]))


def main(folder: str, names: list[str]) -> None:
    """Open the named files of a folder; a name is `number.door.engine`."""
    global _is_ours
    sys.path.insert(0, folder)
    warnings.simplefilter("ignore")
    _is_ours = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]))
    sys.addaudithook(audit)
    for warm in ("warm.load", "warm.notebook.ipynb", "warm.resume", "warm.persona"):
        with contextlib.suppress(AgentkitError, ValueError), contextlib.redirect_stdout(io.StringIO()):
            open_by(warm.split(".")[1], Path(folder, warm), "reflexion")
    prose.to_html("*warm*")  # which loads the sanitizer
    before = peak_memory()
    for name in names:
        found = outcome(name.split(".")[1], Path(folder, name), name.split(".")[2])
        print(json.dumps({"name": name, "peak": peak_memory(), "before": before, **found}), flush=True)


def peak_memory() -> int:
    """Return the peak of this process in megabytes. (Linux counts the parent in `ru_maxrss`, which a child inherits.)"""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) >> 10 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (20 if sys.platform == "darwin" else 10)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
