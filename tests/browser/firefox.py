"""Firefox, driven by WebDriver BiDi, which it speaks itself; Playwright only drives a Firefox that it has patched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser.pages import LONG_ENOUGH
from browser.servers import free_port
from websocket import WebSocket, create_connection

FOLDER = Path(__file__).parent
UNPACKED = FOLDER / "node_modules" / ".firefox"
"""Where `make test` unpacks Debian's Firefox if the machine has none."""

SETTINGS = {
    "network.proxy.type": 1,  # everything outside this machine goes to a proxy that does not exist
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "ui.prefersReducedMotion": 1,
}
KEYS = {"Control": "\ue009", "Enter": "\ue007", "Escape": "\ue00c"}


class FirefoxPage:
    """A tab of Firefox. Methods that Playwright's `Page` has too do the same here, as far as `Notebook` uses them."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket, self._sent = socket, 0
        self._command("session.new", capabilities={})
        self._tab = self._command("browsingContext.create", type="tab")[
            "context"
        ]  # unlike the first tab, it has the focus
        viewport = {"width": 1280, "height": 1000}
        self._command("browsingContext.setViewport", context=self._tab, viewport=viewport)

    def goto(self, url: str) -> None:
        """Open a page, and wait until it is loaded."""
        self._command("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def evaluate(self, function: str, arg: Any = None) -> Any:
        """Return what a JavaScript function returns, as JSON. Raises `RuntimeError` if it throws."""
        call = f"(async () => JSON.stringify(await ({function})({json.dumps(arg)})) ?? 'null')()"
        reply = self._command("script.evaluate", expression=call, target={"context": self._tab}, awaitPromise=True)
        if reply["type"] == "exception":
            raise RuntimeError(reply["exceptionDetails"]["text"])
        return json.loads(reply["result"]["value"])

    def wait_for_function(self, function: str, *, arg: Any = None, timeout: float = LONG_ENOUGH * 1000) -> Any:
        """Wait until a JavaScript function returns something that is true, and return it."""
        end = time.monotonic() + timeout / 1000
        while not (value := self.evaluate(function, arg)):
            assert time.monotonic() < end, f"never true: {function} of {arg}"
            time.sleep(0.1)
        return value

    def see(self, selector: str, text: str) -> None:
        """Wait until a text is in an element that a selector matches."""
        self.wait_for_function(SEES, arg=[selector, text])

    def click(self, selector: str, name: str = "") -> None:
        """Click the first visible element that a selector matches and that has a name, once it rests and is uncovered."""
        place, before = self.wait_for_function(PLACE, arg=[selector, name]), None
        while place != before:
            time.sleep(0.2)
            place, before = self.wait_for_function(PLACE, arg=[selector, name]), place
        x, y = place
        move = {"type": "pointerMove", "x": round(x), "y": round(y)}
        click = [move, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._perform({"type": "pointer", "id": "mouse", "actions": click})

    def press(self, *keys: str) -> None:
        """Press keys together."""
        values = [KEYS.get(key, key) for key in keys]
        down = [{"type": "keyDown", "value": value} for value in values]
        up = [{"type": "keyUp", "value": value} for value in reversed(values)]
        self._perform({"type": "key", "id": "keyboard", "actions": [*down, *up]})

    def type(self, text: str) -> None:
        """Type a text, key by key."""
        for key in text:
            self.press(key)

    def screenshot(self, path: Path) -> None:
        """Save a picture of what is visible."""
        import base64

        path.parent.mkdir(exist_ok=True)
        data = self._command("browsingContext.captureScreenshot", context=self._tab)["data"]
        path.write_bytes(base64.b64decode(data))

    def _perform(self, source: dict[str, Any]) -> None:
        self._command("input.performActions", context=self._tab, actions=[source])

    def _command(self, method: str, **params: Any) -> Any:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while (reply := json.loads(self._socket.recv())).get("id") != self._sent:
            pass
        if reply["type"] == "error":
            raise RuntimeError(f"{method}: {reply['message']}")
        return reply["result"]


SEES = "([selector, text]) => [...document.querySelectorAll(selector)].some((each) => each.innerText.includes(text))"

PLACE = """([selector, name]) => {
  const named = (element) => !name || (element.getAttribute('aria-label') ?? element.textContent).trim() === name;
  const visible = (element) => element.checkVisibility();
  const element = [...document.querySelectorAll(selector)].find((each) => visible(each) && named(each));
  if (!element) return null;
  element.scrollIntoView({ block: 'center', behavior: 'instant' });
  const box = element.getBoundingClientRect();
  const place = [box.x + box.width / 2, box.y + box.height / 2];
  return element.contains(document.elementFromPoint(...place)) ? place : null;
}"""


@contextmanager
def firefox(folder: Path) -> Iterator[FirefoxPage]:
    """Yield a tab of Firefox with a new profile in `folder`. Raises `FileNotFoundError` if there is no Firefox."""
    program, variables = find_firefox()
    profile, log, port = folder / "profile", folder / "log", free_port()
    profile.mkdir(parents=True)
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in SETTINGS.items()]
    (profile / "user.js").write_text("\n".join(lines))
    options = "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", str(port)
    environment = {**os.environ, **variables, "HOME": str(folder)}
    with (
        log.open("w") as out,
        subprocess.Popen([program, *options], env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            end = time.monotonic() + LONG_ENOUGH
            while "WebDriver BiDi listening" not in log.read_text():
                assert process.poll() is None and time.monotonic() < end, log.read_text()
                time.sleep(0.1)
            socket = create_connection(f"ws://127.0.0.1:{port}/session", timeout=LONG_ENOUGH, suppress_origin=True)
            yield FirefoxPage(socket)
            socket.close()
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def find_firefox() -> tuple[str, dict[str, str]]:
    """Return the path of Firefox, and the environment variables that it needs.

    It is the one that the variable FIREFOX names, or else the machine's, or else Debian's, unpacked.
    """
    if program := os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox"):
        return program, {}
    if not (found := list(UNPACKED.glob("root/usr/lib/firefox-esr/firefox-esr"))):
        raise FileNotFoundError("the tests in tests/browser need Firefox: run `make test` once, which installs it")
    libraries = ":".join(str(path) for path in UNPACKED.glob("root/usr/lib/*-linux-gnu*"))
    return str(found[0]), {"LD_LIBRARY_PATH": libraries}
