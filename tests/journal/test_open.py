"""A journal is named by a word or a path, or passed itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentkit import journal
from agentkit.errors import UsageError
from agentkit.journal import MemoryJournal, open_journal


def test_none_means_none_memory_is_shared_and_a_journal_is_used_as_it_is():
    own = MemoryJournal()
    assert open_journal(None) is None
    assert open_journal("memory") is journal.memory
    assert open_journal(own) is own


def test_the_default_file_is_in_the_users_data_directory_or_where_the_variable_points(tmp_path, monkeypatch):
    monkeypatch.delenv("AGENTKIT_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "agentkit" in str(journal.home())
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path / "here"))
    opened = open_journal("sqlite")
    assert opened.path == (tmp_path / "here" / "runs.db").resolve()
    assert open_journal("sqlite") is opened and open_journal(tmp_path / "here" / "runs.db") is opened
    opened.close()
    again = open_journal("sqlite")
    assert again is not opened and again.runs() == []
    again.close()


@pytest.mark.parametrize("spec", ["", 3, object()])
def test_anything_else_is_refused_with_the_allowed_values(spec):
    with pytest.raises(UsageError, match='"memory"'):
        open_journal(spec)


def test_a_journal_in_memory_does_not_load_sqlite():
    code = "import sys, agentkit.journal as j; j.open_journal('memory'); print({'sqlite3', 'platformdirs'} & set(sys.modules))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout == "set()\n"
