"""A world for conversations: a package with a model that does what it is told, and tools whose effects are in files.

The model and the slow tool are held until the file `go` exists, and say that they have begun in the file `begun`.
"""

from __future__ import annotations

import sys
from pathlib import Path

MODULE = '''
import os, time
from pathlib import Path

from agentkit import Call, Reply, tool
from agentkit.models.base import Abilities, Chunk

WORLD = Path(os.environ["WORLD"])


def hold(what):
    (WORLD / "begun").open("a").write(f"{what}\\\\n")
    end = time.monotonic() + 60
    while not (WORLD / "go").exists() and time.monotonic() < end:
        time.sleep(0.01)


@tool(effect="irreversible", timeout=None)
def pay(amount: int) -> str:
    """Pay."""
    with open(WORLD / "paid", "a") as file:
        file.write(f"{amount}\\\\n")
    return f"paid {amount}"


@tool(effect="pure", timeout=None)
def dawdle(seconds: int) -> str:
    """Take a while."""
    hold("dawdle")
    return "back"


@tool(effect="pure")
def repeat(text: str) -> str:
    """Repeat a text."""
    return (WORLD / "hostile").read_text(encoding="utf-8", errors="surrogatepass")


box = [pay, dawdle, repeat]


class Obedient:
    name = "obedient"
    abilities = Abilities(tools=True)

    def __call__(self, request):
        messages = list(request.chat)
        last = messages[-1]
        if last.role == "tool":
            return Reply(f"It said: {last.text}")
        word, _, rest = last.text.replace("[USER INTERRUPT]", "").strip().partition(" ")
        asked = sum(message.role == "user" for message in messages)
        if word == "pay":
            return Reply("I pay.", (Call("pay", {"amount": int(rest)}, f"p{len(messages)}"),))
        if word == "dawdle":
            return Reply("I go slowly.", (Call("dawdle", {"seconds": 1}, f"d{len(messages)}"),))
        if word == "repeat":
            return Reply("", (Call("repeat", {"text": rest}, f"r{len(messages)}"),), reasoning="I repeat.")
        if word == "think":
            return self.slowly()
        if word == "fail":
            raise ConnectionError("the line is down")
        return Reply(f"Message {asked}: {last.text}")

    def slowly(self):
        for piece in ("Let me ", "think"):
            yield Chunk(piece)
        hold("think")
        yield Chunk(" about it.", finish="stop")
'''.replace("\\\\n", "\\n")

POINTS = """
[agentkit.toolboxes]
world = chat_world_package:box
[agentkit.models]
obedient = chat_world_package:Obedient
"""


def install(folder: Path) -> dict[str, str]:
    """Install the package into a folder, and return the environment in which a program finds it."""
    info = folder / "chat_world-1.0.dist-info"
    info.mkdir()
    (folder / "chat_world_package.py").write_text(MODULE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chat-world\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    path = [str(folder), *(each for each in sys.path if each)]
    return {"WORLD": str(folder), "PYTHONPATH": ":".join(path)}
