"""Permissions in JupyterLab: a card with the reason, the preview and how long it holds; a bypass; the audit trail."""

from __future__ import annotations

import pytest
from browser.pages import Notebook
from browser.views import View
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

NOTES = """
import os, tempfile
os.environ["AGENTKIT_HOME"] = home = tempfile.mkdtemp()
from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

def diff(path: str, text: str) -> str:
    return f"--- a/{path}\\n+++ b/{path}\\n-buy milk\\n+{text}"

@tool(effect="irreversible", preview=diff)
def write_file(path: str, text: str) -> str:
    "Write a file."
    return f"wrote {path}"

calls = [Reply("", (Call("write_file", {"path": "notes.md", "text": f"buy tea {n}"}, f"c{n}"),)) for n in range(3)]
model = Scripted([*calls, "Done."], abilities=Abilities(tools=True))
run = Agent(model, [write_file], permissions="ask", audit=home + "/audit.jsonl").start("Note it.", paused=True)
"""


@pytest.fixture
def notes(lab: Notebook) -> View:
    """A run that has come to its first call, which its permissions ask about."""
    view = View(lab.open(NOTES, "run", "1 + 1"), 1)
    view.press("Run")
    view.status("waiting for you")
    return view


def test_a_person_decides_about_a_call_once_for_this_run_and_always(notes: View) -> None:
    form = notes.root.get_by_label("Approval")
    expect(form).to_contain_text("in mode ask, a tool that is irreversible is asked about")
    expect(form.locator(".ak-preview .ak-added").last).to_have_text("+buy tea 0")
    expect(form.locator(".ak-preview .ak-removed").last).to_have_text("-buy milk")
    form.get_by_role("button", name="Approve", exact=True).click()
    notes.until("len(run) > 4 or run.waiting and len(run) == 4")
    expect(notes.card(2)).to_contain_text("Approved by a person (in mode ask")
    notes.status("waiting for you")
    form = notes.root.get_by_label("Approval")
    expect(form.locator(".ak-preview .ak-added").last).to_have_text("+buy tea 1")
    form.get_by_role("button", name="Always", exact=True).click()
    form.get_by_role("button", name="Approve", exact=True).click()
    notes.status("done")
    expect(notes.card(6)).to_contain_text("Allowed: rule 1 of the person: allow write_file")
    assert "allow" in notes.ask("open(home + '/permissions.toml').read()")


def test_a_bypass_is_red_and_the_audit_trail_names_what_was_changed(notes: View) -> None:
    notes.do("run.guard(permissions='bypass-all-permissions', author='Ada', reason='a test')")
    notice = notes.root.locator(".ak-bypassed")
    expect(notice).to_contain_text("Permissions are bypassed")
    red = notice.evaluate("element => getComputedStyle(element).borderLeftColor")
    assert int(red.removeprefix("rgb(").partition(",")[0]) > 180
    notes.press("Run")
    notes.status("done")
    notes.root.get_by_role("tab", name="Audit").click()
    panel = notes.root.get_by_role("tabpanel")
    expect(panel).to_contain_text("lines are as they were written")
    expect(panel).to_contain_text("write_file(path='notes.md', text='buy tea 1')")
    expect(panel).to_contain_text("a test")
    notes.do(
        "path = home + '/audit.jsonl'; text = open(path).read(); open(path, 'w').write(text.replace('tea 1', 'gin 1', 1))"
    )
    notes.root.get_by_role("tab", name="Source").click()
    notes.root.get_by_role("tab", name="Audit").click()
    expect(panel).to_contain_text("was changed")
