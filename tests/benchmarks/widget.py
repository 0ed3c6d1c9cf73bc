"""What the live view costs and how quick it is: a real kernel, a real JupyterLab and a real Chromium on this machine.

Click to handler: from the click in the page (made by script, so without the mouse) to the kernel's handler, by the one
clock that both processes read. Frames are those of the browser without a screen, which draws in software.

    python tests/benchmarks/widget.py [--before FOLDER] [GROUP ...]

measures all groups of `GROUPS`, or only the named ones; with `--before`, a second working tree too, with its module
built, in the same run.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.chromium import chromium
from browser.pages import Notebook
from browser.servers import Jupyter, jupyter
from playwright.sync_api import Browser
from rich.console import Console
from rich.table import Table

CLICKS = 60
VIEWS, AGAIN = 30, 20
STEPS = 10_000
PLAYED, TRACED, STEPPED, PAUSES = 2_000, 140, 20, 5
HERE = Path(__file__).parents[2]
TOKENS, A_SECOND = 3_000, 1_000

AGENT = """
import json, threading, time
from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.models.base import Abilities, Chunk
from agentkit.notebook.widget import view

@tool(effect="pure")
def nap(seconds: float) -> str:
    "Sleep."
    time.sleep(seconds)
    return "slept"

@tool(effect="pure")
def burn(seconds: float) -> str:
    "Compute."
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(1000))
    return "burnt"

class Turns:
    "Ask for the same call again and again."
    name, abilities = "turns", Abilities(tools=True)
    def __init__(self, turns, tool, **arguments):
        self.left, self.tool, self.arguments = turns, tool, arguments
    def __call__(self, request):
        self.left -= 1
        return Reply("I go on", (Call(self.tool, self.arguments, f"c{self.left}"),)) if self.left >= 0 else Reply("done")

def start(model):
    return Agent(model, [nap, burn], journal="memory", engine=Loop("react", max_iterations=100_000)).start("Go.", paused=True)

handled, sent = [], []

def watch(run):
    "Note when commands are handled and what is sent."
    shown = view(run)
    take, send = shown.dispatcher.take, shown.send
    def timed(message):
        handled.append((message["cmd"], time.time() * 1000))
        take(message)
    def counted(message):
        sent.append((time.time(), len(json.dumps(message)), message))
        send(message)
    shown.dispatcher.take, shown.send = timed, counted
"""

CLICK = """async ([names, clicks]) => {
  const view = document.querySelector('.ak-root');
  const button = (name) => [...view.querySelectorAll('[role=toolbar] button')].find((b) => b.getAttribute('aria-label') === name);
  const times = [];
  const end = Date.now() + 60_000;
  while (times.length < clicks && Date.now() < end) {
    const name = names[times.length % names.length];
    const it = button(name);
    if (!it || it.disabled || it.getAttribute('aria-disabled') === 'true') {
      await new Promise((wake) => setTimeout(wake, 5));
      continue;
    }
    times.push([name, performance.timeOrigin + performance.now()]);
    it.click();
    await new Promise((wake) => setTimeout(wake, 80 + 40 * Math.random()));
  }
  return times;
}"""

OPEN = """async (cell) => {
  const begun = performance.now();
  const notebook = jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = cell;
  jupyterapp.commands.execute('notebook:run-cell');
  while (!document.querySelector('.ak-root [data-n]')) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return [performance.now() - begun, document.querySelectorAll('.ak-root [data-n]').length];
}"""

SCROLL = """async () => {
  const box = document.querySelector('.ak-scroll');
  const frames = [];
  let before = performance.now();
  for (let i = 0; i < 150; i++) {
    box.scrollTop = box.scrollHeight * (1 - i / 150);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - before);
    before = now;
  }
  return frames.slice(1);
}"""

MOMENTS = """async ([positions, steps]) => {
  const view = document.querySelector('.ak-root');
  const slider = view.querySelector('input[type=range]');
  const frame = () => new Promise(requestAnimationFrame);
  const move = (to) => {
    slider.value = String(to);
    slider.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const panel = view.querySelector('.ak-side-panel');
  const shown = (n) => panel.textContent.includes(`As it was at step ${n},`);
  const times = [];
  for (const n of positions) {
    const begun = performance.now();
    move(n);
    const end = begun + 10_000;
    while (!shown(n) && performance.now() < end) await new Promise((wake) => setTimeout(wake, 1));
    times.push(performance.now() - begun);
    await frame();
  }
  const begun = performance.now();
  for (let n = 1; n <= steps; n += 5) {
    move(n);
    await frame();
  }
  const last = 1 + 5 * Math.floor((steps - 1) / 5);
  const dragged = performance.now();
  while (!shown(last) && performance.now() < dragged + 10_000) await new Promise((wake) => setTimeout(wake, 1));
  return [times, dragged - begun, performance.now() - dragged];
}"""

LOAD = """async (text) => {
  const times = [];
  for (let i = 0; i < 10; i++) {
    const url = URL.createObjectURL(new Blob([text + '\\n//' + i], { type: 'text/javascript' }));
    const begun = performance.now();
    await import(url);
    times.push(performance.now() - begun);
  }
  return times;
}"""


@contextmanager
def lab(browser: Browser, server: Jupyter, name: str, *cells: str) -> Iterator[Notebook]:
    """Open a notebook in JupyterLab, with the agent in its first cell, and run that."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    notebook = Notebook(page, server, "lab", server.root / name)
    notebook.open(AGENT, *cells)
    notebook.run(0)
    notebook.done(0)
    yield notebook
    notebook.close()
    page.close()


def latency(notebook: Notebook, *names: str) -> str:
    """Click, and give the median and the 95th percentile of the time to the handler, in milliseconds, of the first
    name.
    """
    clicks = notebook.page.evaluate(CLICK, [list(names), CLICKS])
    handled = notebook.ask(
        f"[each for each in handled if each[0] in {[name.lower().replace('run', 'play') for name in names]}]"
    )
    assert len(handled) == len(clicks) == CLICKS, (len(handled), len(clicks))
    took = [then - now for (name, now), (_, then) in zip(clicks, handled, strict=True) if name == names[0]]
    return f"{statistics.median(took):.1f} / {statistics.quantiles(took, n=20)[-1]:.1f} ms  ({len(took)} clicks)"


def clicks(browser: Browser, server: Jupyter) -> Iterator[tuple[str, str]]:
    """Measure clicks in the states of a kernel."""
    shown = "run = start(Turns(10_000, 'nap', seconds=0)); watch(run); run"
    with lab(browser, server, "idle", shown) as notebook:
        show(notebook, 1)
        yield "click to handler, kernel idle: median / p95", latency(notebook, "Step")
    for tool in ("nap", "burn"):
        with lab(
            browser, server, tool, f"run = start(Turns(100_000, '{tool}', seconds=0.05)); watch(run); run"
        ) as notebook:
            show(notebook, 1)
            notebook.do("run.play()")
            doing = "sleep" if tool == "nap" else "burn CPU"
            yield f"click on Pause to handler, the agent runs, its tools {doing}", latency(notebook, "Pause", "Run")
    burning = f"while len(handled) < {CLICKS}: sum(range(1000))"
    with lab(browser, server, "cell", shown, burning) as notebook:
        show(notebook, 1)
        notebook.run(2)
        yield "click to handler, a cell burns CPU", latency(notebook, "Step")


def show(notebook: Notebook, cell: int) -> None:
    """Run a cell and wait for its view."""
    notebook.run(cell)
    notebook.page.locator(".ak-root [data-n]").first.wait_for()


def many_steps(browser: Browser, server: Jupyter) -> Iterator[tuple[str, str]]:
    """Measure a run of many steps: opened when it is there, and shown while it runs."""
    run = f"run = start(Turns({STEPS // 2}, 'nap', seconds=0))"
    play = "run.play(until=lambda: 'pause' if len(run) >= {0} else ''); run.wait()"
    with lab(browser, server, "few", "run") as notebook:
        notebook.do(f"{run}; {play.format(10)}")
        yield "10 steps: cell run to view drawn", f"{notebook.page.evaluate(OPEN, 1)[0]:.0f} ms"
    with lab(browser, server, "many", "watch(run); run") as notebook:
        notebook.do(f"{run}; {play.format(STEPS)}")
        took, drawn = notebook.page.evaluate(OPEN, 1)
        yield (
            f"{notebook.ask('len(run)'):,} steps: cell run to view drawn",
            f"{took:.0f} ms  ({drawn} entries in the page)",
        )
        frames = notebook.page.evaluate(SCROLL)
        yield (
            "  scroll frame: median / p95",
            f"{statistics.median(frames):.1f} / {statistics.quantiles(frames, n=20)[-1]:.1f} ms",
        )
        messages, size = notebook.ask("(len(sent), sum(each[1] for each in sent))")
        yield "  messages to open it", f"{messages}, {size:,} bytes"
        state = "len(json.dumps({k: v for k, v in view(run).widget.get_state().items() if %s}, default=str))"
        own, code = notebook.ask(state % "k not in ('_esm', '_css')"), notebook.ask(state % "k in ('_esm', '_css')")
        yield "  widget state: the run's / the module's code", f"{own:,} / {code:,} bytes"
    with lab(browser, server, "live", "watch(run); run") as notebook:
        notebook.do(run)
        show(notebook, 1)
        begun = time.monotonic()
        notebook.do(play.format(STEPS))
        notebook.page.wait_for_function("(n) => document.querySelector(`.ak-root [data-n='${n}']`)", arg=STEPS - 1)
        took = time.monotonic() - begun
        messages, size = notebook.ask("(len(sent), sum(each[1] for each in sent))")
        yield (
            f"{STEPS:,} steps while shown: until the last is drawn",
            f"{took:.1f} s, {messages} messages, {size:,} bytes",
        )


COMMS = "len(__import__('comm').get_comm_manager().comms)"


def many_runs(browser: Browser, server: Jupyter) -> Iterator[tuple[str, str]]:
    """Measure many runs in one notebook, and a cell that is run again and again."""
    show_all = f"for _ in range({VIEWS}): display(start(Turns(5, 'nap', seconds=0)))"
    with lab(browser, server, "views", show_all) as notebook:
        received: list[int] = []
        notebook.page.on(
            "websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data)))
        )
        notebook.reload()
        received.clear()
        begun = time.monotonic()
        notebook.run(1)
        ready = (
            "(n) => [...document.querySelectorAll('.ak-root')].filter((v) => v.querySelector('[data-n]')).length >= n"
        )
        notebook.page.wait_for_function(ready, arg=VIEWS, timeout=120_000)
        yield (
            f"{VIEWS} views: cell run to all ready",
            f"{time.monotonic() - begun:.1f} s, {sum(received):,} bytes received",
        )
    with lab(browser, server, "again", "start(Turns(5, 'nap', seconds=0))") as notebook:
        show(notebook, 1)
        before = notebook.ask(COMMS)
        for _ in range(AGAIN):
            notebook.run(1)
            notebook.page.wait_for_timeout(400)
            notebook.done(1)
        notebook.page.wait_for_timeout(10_000)
        yield f"comms after a cell was run {AGAIN} times more", f"{notebook.ask(COMMS) - before:+}"


STREAM = f"""
bell = threading.Event()
words = [f"w{{i}} " for i in range({TOKENS})]

class Streams:
    name, abilities = "streams", Abilities(stream=True)
    def __call__(self, request):
        begun = time.perf_counter()
        for i, word in enumerate(words):
            time.sleep(max(0, begun + i / {A_SECOND} - time.perf_counter()))
            yield Chunk(text=word)
        bell.wait(30)

run = Agent(Streams(), journal="memory").start("Go.", paused=True)
watch(run)
run
"""


def moments(browser: Browser, server: Jupyter) -> Iterator[tuple[str, str]]:
    """Measure how long the time slider takes to a moment, in a trace of 1,000 steps."""
    steps = 1_000
    cell = f"run = start(Turns({steps}, 'nap', seconds=0))\nfor _ in range({steps}): next(run)\nwatch(run)\nrun"
    with lab(browser, server, "moments", cell) as notebook:
        notebook.run(1)
        notebook.done(1)
        notebook.page.locator(".ak-root .ak-strip").wait_for()
        near, far = list(range(steps, steps - 40, -1)), [1 + 137 * n % steps for n in range(40)]
        for what, positions in (("back step by step from the end", near), ("to anywhere", far)):
            times, dragging, late = notebook.page.evaluate(MOMENTS, [positions, steps])
            middle, slow = statistics.median(times), sorted(times)[int(0.95 * len(times))]
            yield f"time slider over {steps:,} steps, {what}", f"{middle:.0f} ms, 95th percentile {slow:.0f} ms"
        asked = notebook.ask("sum(command == 'at' for command, _ in handled)") - len(near) - len(far)
        yield (
            "  dragged over 200 positions",
            f"{dragging:.0f} ms; {asked / 2:.0f} were asked for, the last {late:.0f} ms later",
        )


def streaming(browser: Browser, server: Jupyter) -> Iterator[tuple[str, str]]:
    """Measure a model that streams."""
    with lab(browser, server, "stream", STREAM) as notebook:
        show(notebook, 1)
        notebook.do("sent.clear(); run.play()")
        text = notebook.ask("''.join(words)")
        notebook.page.wait_for_function(
            "(end) => document.querySelector('.ak-stream')?.textContent.includes(end)",
            arg=f"w{TOKENS - 1}",
            timeout=60_000,
        )
        streamed = "".join(notebook.page.locator(".ak-stream .ak-text").last.inner_text().split())
        assert "".join(text.split()).endswith(streamed.lstrip("…")), "what is drawn is not what was said"
        deltas = "[(at, event['text']) for at, _, m in sent for event in m.get('ev', ()) if event['k'] == 'delta']"
        times = notebook.ask(f"[each[0] for each in {deltas}]")
        whole = notebook.ask(f"''.join(each[1] for each in {deltas})")
        rate = (len(times) - 1) / (times[-1] - times[0])
        lost = "nothing lost" if whole == text else f"{len(text) - len(whole)} characters lost"
        yield f"{A_SECOND:,} tokens a second streamed", f"{rate:.1f} messages a second, {lost}"
        notebook.do("bell.set()")


PLAY = "run.play(until=lambda: 'pause' if len(run) >= {0} else '').wait()"

FRAMES = """() => {
  const frames = (window.frames_drawn = []);
  const next = (now) => { frames.push(now); window.frame = requestAnimationFrame(next); };
  next(performance.now());
}"""

PAUSE = """async () => {
  const view = document.querySelector('.ak-root');
  const button = [...view.querySelectorAll('[role=toolbar] button')].find((b) => b.getAttribute('aria-label') === 'Pause');
  const begun = performance.timeOrigin + performance.now();
  button.click();
  while (view.querySelector('[role=status]').textContent.trim() !== 'paused') await new Promise(requestAnimationFrame);
  return [begun, performance.timeOrigin + performance.now()];
}"""

RESTS = """
rests = []
def watch_rests():
    was = run.status
    while True:
        time.sleep(0.002)
        if (now := run.status) != was and now == "paused":
            rests.append(time.time() * 1000)
        was = now
threading.Thread(target=watch_rests, daemon=True).start()
"""

HEIGHTS = """() => {
  const cell = document.querySelector('.ak-root').closest('.jp-Cell');
  window.heights = [];
  new ResizeObserver(() => window.heights.push(cell.offsetHeight)).observe(cell);
}"""


def fast_play(browser: Browser, server: Jupyter) -> Iterator[tuple[str, str]]:
    """Measure a run at full speed: frames, what lags behind, forced layouts, Pause, and the height of the view."""
    run = f"run = start(Turns({100 * PLAYED}, 'nap', seconds=0)); run"
    with lab(browser, server, "play", run) as notebook:
        page = notebook.page
        show(notebook, 1)
        page.evaluate(FRAMES)
        begun = time.monotonic()
        notebook.do(PLAY.format(PLAYED))
        ended = time.monotonic()
        page.wait_for_function("(n) => document.querySelector(`.ak-root [data-n='${n}']`)", arg=PLAYED - 1)
        drawn = time.monotonic()
        frames = page.evaluate("() => window.frames_drawn")
        page.evaluate("() => cancelAnimationFrame(window.frame)")
        longest = max(then - now for now, then in itertools.pairwise(frames))
        rate = 1000 * (len(frames) - 1) / (frames[-1] - frames[0])
        yield f"{PLAYED:,} steps at full speed: frames a second", f"{rate:.1f}, longest {longest:.0f} ms"
        yield "  played; then until the last is drawn", f"{ended - begun:.1f} s; {1000 * (drawn - ended):.0f} ms"
    with lab(browser, server, "forced", run) as notebook:
        show(notebook, 1)
        notebook.page.wait_for_timeout(1_000)
        browser.start_tracing(page=notebook.page, categories=["devtools.timeline", STACKS])
        notebook.do(PLAY.format(TRACED))
        notebook.page.wait_for_timeout(2_000)
        yield f"  forced layouts in {TRACED} steps", str(forced_layouts(browser.stop_tracing()))
    for name, programs in (("", 0), (f"  with {2 * CORES} busy programs:", 2 * CORES)):
        with lab(browser, server, f"pause{programs}", run) as notebook, busy(programs):
            show(notebook, 1)
            notebook.do(RESTS)
            yield f"{name}  Pause: click to rest / until shown, the longest of {PAUSES}", pauses(notebook)
    with lab(browser, server, "steps", run) as notebook:
        show(notebook, 1)
        notebook.page.wait_for_timeout(1_000)
        notebook.page.evaluate(HEIGHTS)
        notebook.page.wait_for_timeout(200)
        for step in range(STEPPED):
            notebook.do("next(run)")
            notebook.page.locator(f".ak-root [data-n='{step + 1}']").wait_for()
        notebook.page.wait_for_timeout(500)
        heights = notebook.page.evaluate("() => window.heights")
        changes = sum(now != then for now, then in itertools.pairwise(heights))
        yield f"height changes of the notebook in {STEPPED} steps", str(changes)


STACKS = "disabled-by-default-devtools.timeline.stack"
CORES = os.cpu_count() or 1


def forced_layouts(trace: bytes) -> int:
    """Return how many layouts in a trace were begun by a read in our module, which is loaded from a blob."""
    layouts = [event for event in json.loads(trace)["traceEvents"] if event["name"] in ("Layout", "UpdateLayoutTree")]
    stacks = [event.get("args", {}).get("beginData", {}).get("stackTrace", ()) for event in layouts]
    names = [event["name"] for event in layouts]
    return sum(
        name == "Layout" and any(frame.get("url", "").startswith("blob:") for frame in stack)
        for name, stack in zip(names, stacks, strict=True)
    )


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """Keep the machine busy in the meantime."""
    running = [
        subprocess.Popen([sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: pass"])
        for _ in range(programs)
    ]
    try:
        yield
    finally:
        for program in running:
            program.kill()


def pauses(notebook: Notebook) -> str:
    """Play and pause; return the longest times from the click until the run rests, and until the view says so."""
    rested, shown = [], []
    for _ in range(PAUSES):
        notebook.do("rests.clear(); run.play()")
        notebook.page.wait_for_function(
            "() => document.querySelector('.ak-root [role=status]').textContent == 'running'"
        )
        notebook.page.wait_for_timeout(1_500)
        begun, seen = notebook.page.evaluate(PAUSE)
        notebook.until("rests")
        rested.append(notebook.ask("rests[-1]") - begun)
        shown.append(seen - begun)
    return f"{max(rested):.0f} / {max(shown):.0f} ms"


def module(browser: Browser, _: Jupyter) -> Iterator[tuple[str, str]]:
    """Measure the module that is sent to the page."""
    static = Path(os.environ["PYTHONPATH"]) / "agentkit" / "static"
    code = (static / "widget.js").read_bytes()
    yield "module with its style sheet", f"{len(code):,} bytes ({len(gzip.compress(code)):,} gzipped)"
    page = browser.new_page()
    yield (
        "module loaded, from text to exports: median",
        f"{statistics.median(page.evaluate(LOAD, code.decode())):.1f} ms",
    )


GROUPS: dict[str, Callable[[Browser, Jupyter], Iterator[tuple[str, str]]]] = {
    group.__name__: group for group in (module, clicks, fast_play, many_steps, many_runs, moments, streaming)
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, metavar="FOLDER")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    options = parser.parse_args()
    trees = {"before": options.before, "after": HERE} if options.before else {"measured": HERE}
    results = {name: measured(tree.resolve(), options.groups or list(GROUPS)) for name, tree in trees.items()}
    table = Table("what", *results, title="The live view, in JupyterLab and Chromium")
    for what in dict.fromkeys(what for rows in results.values() for what in rows):
        table.add_row(what, *(rows.get(what, "") for rows in results.values()))
    Console(width=132).print(table)


def measured(tree: Path, groups: list[str]) -> dict[str, str]:
    """Return the rows of a working tree."""
    os.environ["PYTHONPATH"] = str(tree)  # for the kernels
    with tempfile.TemporaryDirectory() as folder, jupyter(Path(folder)) as server, chromium() as browser:
        rows = {}
        for group in groups:
            for what, value in GROUPS[group](browser, server):
                print(f"{tree.name}: {what}: {value}", flush=True)
                rows[what] = value
        return rows


if __name__ == "__main__":
    main()
