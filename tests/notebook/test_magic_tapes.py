"""`%agent record` and `%agent replay`: a tape instead of the network, for a whole notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopback import Loopback, answer, completion


def test_a_tape_recorded_in_one_cell_is_played_in_another_without_the_host(notebook: Any, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    with Loopback([answer(completion("from the host"))]) as host:
        assert "0 exchanges, record" in notebook.run(f"%agent record {path}").text
        assert "from the host" in notebook.run(f"%agent -w -m {host.url}/v1#m -t none say it").text
        assert "1 exchanges, record" in notebook.run("%agent record").text
        assert "taken out" in notebook.run("%agent record --off").text
    try:
        assert "1 exchanges, replay" in notebook.run(f"%agent replay {path}").text
        assert "from the host" in notebook.run("%agent -w -m http://127.0.0.1:9/v1#m -t none say it").text
        assert "NotRecorded" in notebook.cell("%agent -w -m http://127.0.0.1:9/v1#m -t none say more").stderr
    finally:
        notebook.run("%agent replay --off")
    assert notebook.run("%agent replay --off").text == "no tape is inserted"
    assert "no tape is inserted; %agent replay FILE" in notebook.run("%agent replay").text
    assert "there is no tape" in notebook.refuses("%agent replay nowhere.json")


def test_a_model_can_be_a_url_and_its_failure_is_reported(notebook: Any) -> None:
    cell = notebook.cell("%agent -w -m http://127.0.0.1:9/v1#m -t none hello")
    assert "ModelUnreachable: 127.0.0.1:9 (m) cannot be reached" in cell.stderr + cell.error
    assert "%agent play tries again" in cell.stderr + cell.error
