"""Film the live view for the README and the docs: `cd tests && python -m browser.film` writes docs/images/stepping.svg.

A person steps through a run in a real JupyterLab. The file holds a few still pictures with captions, which CSS shows one
after the other. Somebody who has asked for reduced motion sees one of them.
"""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from browser.chromium import chromium
from browser.pages import Notebook
from browser.servers import jupyter
from browser.views import View
from playwright.sync_api import Page, expect

TARGET = Path(__file__).parents[2] / "docs" / "images" / "stepping.svg"
WIDTH, HEIGHT, CAPTION, SECONDS, QUALITY = 1080, 560, 44, 3.5, 72
STILL = "Correct"
"""The beginning of the caption of the picture that is shown if nothing moves."""

CAFE = """
from agentkit import Agent, tool

menu = {"tea": 3.2, "cake": 4.5, "soup": 6.8}

@tool(effect="pure")
def price(item: str) -> float:
    "Look up the price of an item on the menu."
    return menu[item]

run = Agent("offline", tools=[price, "math"], journal="memory").start("What is 3 times the price of cake?", paused=True)
"""


@dataclass
class Picture:
    """What the view looks like at one moment, as WebP."""

    caption: str
    data: bytes


def film(page: Page, notebook: Notebook) -> list[Picture]:
    """Step through a run, and return a picture of each moment."""
    pictures: list[Picture] = []
    notebook.open(CAFE, "run")
    view = View(notebook, 1)
    view.status("paused")
    view.root.evaluate(
        "(root, size) => { root.style.cssText = `width: ${size[0]}px; height: ${size[1]}px` }", [WIDTH, HEIGHT]
    )

    def shoot(caption: str) -> None:
        page.wait_for_timeout(600)  # until what fades in is there
        pictures.append(Picture(caption, capture(page, view)))

    shoot("A run of an agent, paused before its first step")
    view.press("Step")
    expect(view.card(1)).to_be_visible()
    shoot("Step: the model asks for a tool, which has not run yet")
    view.press("Step")
    expect(view.card(2)).to_contain_text("4.5")
    shoot("Step: the tool runs, and the loop goes on to its next line")
    view.act(2, "Edit")
    form = view.root.get_by_label("Edit", exact=True)
    form.get_by_role("textbox").first.fill("5.5")
    form.get_by_label("Reason").fill("prices went up this morning")
    shoot("Correct what the tool returned, with a reason")
    page.keyboard.press("Control+Enter")
    expect(view.card(2)).to_contain_text("5.5")
    shoot("The edit is marked, and the original is one click away")
    view.press("Run")
    view.status("done")
    shoot("Run: the answer follows your correction")
    return pictures


def capture(page: Page, view: View) -> bytes:
    """Return a picture of the view, always of the same size."""
    view.root.scroll_into_view_if_needed()
    box = view.root.bounding_box()
    assert box is not None
    clip = {"x": box["x"], "y": box["y"], "width": WIDTH, "height": HEIGHT, "scale": 1}
    options: dict[str, Any] = {"format": "webp", "quality": QUALITY, "clip": clip}
    return base64.b64decode(page.context.new_cdp_session(page).send("Page.captureScreenshot", options)["data"])


def svg(pictures: list[Picture]) -> str:
    """Return the moving picture."""
    share = 100 / len(pictures)
    still = next(number for number, picture in enumerate(pictures) if picture.caption.startswith(STILL))
    scenes = "".join(
        f'<g class="scene{" still" if number == still else ""}" style="animation-delay:{number * SECONDS}s">'
        f'<image width="{WIDTH}" height="{HEIGHT}" y="{CAPTION}" '
        f'href="data:image/webp;base64,{base64.b64encode(picture.data).decode()}"/>'
        f'<text x="16" y="{CAPTION - 15}">{escape(picture.caption)}</text></g>\n'
        for number, picture in enumerate(pictures)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + CAPTION}">
<style>
.scene {{ visibility: hidden; animation: show {len(pictures) * SECONDS}s step-end infinite; }}
@keyframes show {{ 0% {{ visibility: visible; }} {share:.4f}% {{ visibility: hidden; }} }}
text {{ font: 600 20px system-ui, sans-serif; fill: #1f2937; }}
@media (prefers-reduced-motion: reduce) {{ .scene {{ animation: none; }} .still {{ visibility: visible; }} }}
</style>
<rect width="{WIDTH}" height="{HEIGHT + CAPTION}" fill="#ffffff"/>
{scenes}</svg>
"""


def main() -> None:
    """Film the view, and write the file."""
    with tempfile.TemporaryDirectory() as folder, jupyter(Path(folder)) as server, chromium() as browser:
        page = browser.new_page(viewport={"width": 1600, "height": 1000}, reduced_motion="reduce")
        notebook = Notebook(page, server, "lab", server.root / "film")
        pictures = film(page, notebook)
        notebook.close()
    TARGET.write_text(svg(pictures), encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
