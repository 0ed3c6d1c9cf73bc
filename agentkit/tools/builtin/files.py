"""Files: list, read and search what is below one folder; with `write=True` also write and edit it.

No path leads out of the folder, whatever a model writes; see `agentkit.sandbox.paths`. Files are text in UTF-8.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
import time

from agentkit.core.checked_arguments import checked
from agentkit.errors import ToolError
from agentkit.inert import for_terminal
from agentkit.sandbox.paths import HIDDEN, Folder, NoSuchFile
from agentkit.tools.tool import Tool, tool
from agentkit.tools.toolbox import ToolBox

MAX_BYTES = 2_000_000
"""The size of the largest file that is read, searched or edited."""
MAX_LISTED = 500
MAX_LINES = 500
MAX_FOUND = 100
MAX_DIFF = 10_000
"""The number of characters of a diff that the result of an edit shows."""
MAX_LINE = 1_000
SEARCH_SECONDS = 20.0


class Files(ToolBox):
    """The files below a folder: list, read and search them; with `write=True`, write and edit them, too.

    Names that fit a pattern in `hidden` are not there for the model. Raises `UsageError` if there is no such folder.
    """

    @checked
    def __init__(
        self, folder: str | os.PathLike[str] = ".", *, write: bool = False, hidden: tuple[str, ...] = HIDDEN
    ) -> None:
        super().__init__(name="files")
        self.folder = Folder(folder, hidden=hidden)
        self.can_write = write

    def discover_tools(self) -> list[Tool]:
        """Return the tools; those that change files only if the box may write."""
        return [found for found in super().discover_tools() if self.can_write or found.effect == "pure"]

    @tool(effect="pure")
    def list_files(self, path: str = ".") -> str:
        """List what is in a folder, one name per line, with the size of each file in bytes.

        Args:
            path: The folder, relative to the top folder, such as "src". "." is the top folder.
        """
        listed = self.folder.entries(path)
        marks = {"folder": "/", "link": " (link)", "other": " (not a file)"}
        lines = [
            for_terminal(entry.name) + (f"  {entry.size:,}" if entry.kind == "file" else marks[entry.kind])
            for entry in listed[:MAX_LISTED]
        ]
        lines += [f"[{len(listed) - MAX_LISTED:,} more names are not shown]"] if len(listed) > MAX_LISTED else []
        return "\n".join(lines) or "The folder is empty."

    @tool(effect="pure", artifact=False)
    def read_file(self, path: str, first_line: int = 1, lines: int = MAX_LINES) -> str:
        """Read a text file, with the number of each line.

        Args:
            path: The file, relative to the top folder.
            first_line: The number of the first line to read.
            lines: How many lines to read, at most 500.
        """
        if first_line < 1 or lines < 1:
            raise ToolError("first_line and lines must be 1 or more")
        every = self._text(path).splitlines() or [""]
        if first_line > len(every):
            raise ToolError(f"{path!r} has only {len(every):,} lines")
        shown = every[first_line - 1 : first_line - 1 + min(lines, MAX_LINES)]
        numbered = [f"{number}\t{_short(line)}" for number, line in enumerate(shown, first_line)]
        rest = len(every) - (first_line - 1 + len(shown))
        next_line = f"[{rest:,} more lines; go on with first_line={first_line + len(shown)}]"
        return "\n".join([*numbered, *([next_line] if rest else [])])

    @tool(effect="pure", artifact=False)
    def search_files(self, text: str, path: str = ".", name: str = "*", ignore_case: bool = False) -> str:
        """Search files for a text, line by line, and return each line that contains it as path:number: line.

        Args:
            text: The text to find, exactly as it is written; this is not a regular expression.
            path: The folder or file to search, relative to the top folder.
            name: Only files with names of this pattern, such as "*.py".
            ignore_case: Whether upper and lower case are the same.
        """
        if not text:
            raise ToolError("text is empty; there is nothing to search for")
        wanted = text.casefold() if ignore_case else text
        found: list[str] = []
        left_out, end = 0, time.monotonic() + SEARCH_SECONDS
        for place, content in self.folder.files(path, limit=MAX_BYTES):
            if time.monotonic() > end:
                return "\n".join(
                    [*found, f"[The search was stopped after {SEARCH_SECONDS:g} s; search a smaller folder]"]
                )
            if not fnmatch.fnmatchcase(place.rpartition("/")[2], name):
                continue
            if content is None or b"\0" in content:
                left_out += content is None
                continue
            for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
                if wanted in (line.casefold() if ignore_case else line):
                    if len(found) == MAX_FOUND:
                        return "\n".join(
                            [*found, f"[Only the first {MAX_FOUND} lines are shown; search for more text]"]
                        )
                    found.append(f"{for_terminal(place)}:{number}: {_short(line.strip())}")
        found += [f"[{left_out:,} files that are too large or cannot be read were not searched]"] if left_out else []
        return "\n".join(found) or "No line contains this text."

    def _written(self, path: str, content: str) -> tuple[bytes | None, str, str]:
        """Return what is in a file, None if there is none, with its text before and after it is written."""
        try:
            before = self.folder.read(path, limit=MAX_BYTES)
        except NoSuchFile:
            return None, "", content
        return before, _decoded(before, path), content

    def _edited(self, path: str, old_text: str, new_text: str, every: bool = False) -> tuple[bytes, str, str]:
        """Return what is in a file, and its text before and after an edit."""
        content = self.folder.read(path, limit=MAX_BYTES)
        text = _decoded(content, path)
        is_dos = "\r\n" in text and text.count("\r\n") == text.count("\n")
        if is_dos and "\r" not in old_text + new_text:  # the model saw its lines without their ends
            old_text, new_text = old_text.replace("\n", "\r\n"), new_text.replace("\n", "\r\n")
        count = text.count(old_text) if old_text else 0
        if old_text == new_text:
            raise ToolError("old_text and new_text are the same; nothing was changed")
        if not count:
            near = _near(text, old_text)
            hint = f" The nearest line is {near}." if near else ""
            raise ToolError(f"old_text is not in {path!r}; it must be exactly as in the file, without numbers.{hint}")
        if count > 1 and not every:
            raise ToolError(f"old_text is {count} times in {path!r}; add lines around it, or pass every=true")
        return content, text, text.replace(old_text, new_text)

    def _written_diff(self, path: str, content: str) -> str:
        return diff(path, *self._written(path, content)[1:])

    def _edited_diff(self, path: str, old_text: str, new_text: str, every: bool = False) -> str:
        return diff(path, *self._edited(path, old_text, new_text, every)[1:])

    @tool(effect="irreversible", artifact=False, preview=_written_diff)
    def write_file(self, path: str, content: str) -> str:
        """Write a text file. A file that is there already is replaced as a whole; missing folders are made.

        Args:
            path: The file, relative to the top folder.
            content: The whole text of the file.
        """
        data = _encoded(content)
        before, old, _ = self._written(path, content)
        self.folder.write(path, data, expected=before)
        if before is None:
            return f"Made {path}, {len(data):,} bytes."
        return f"Replaced {path}, {len(data):,} bytes.\n{_shortened(diff(path, old, content))}"

    @tool(effect="irreversible", artifact=False, preview=_edited_diff)
    def edit_file(self, path: str, old_text: str, new_text: str, every: bool = False) -> str:
        """Replace a text in a file by another one, and return what changed.

        Args:
            path: The file, relative to the top folder.
            old_text: The text to replace, exactly as it is in the file. It must be there only once.
            new_text: The text to put in its place.
            every: Whether to replace the text everywhere, if it is there more than once.
        """
        before, old, new = self._edited(path, old_text, new_text, every)
        self.folder.write(path, _encoded(new), expected=before)
        return f"Changed {path}.\n{_shortened(diff(path, old, new))}"

    def _text(self, path: str) -> str:
        return _decoded(self.folder.read(path, limit=MAX_BYTES), path)


def diff(path: str, old: str, new: str) -> str:
    """Return the differences of two texts of a file, as a unified diff; "" if there are none."""
    path = for_terminal(path)  # so that it cannot forge a line
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}", lineterm="", n=3)
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    """Return the lines of a text as a diff has them: only a line feed ends one, and a last line without it says so."""
    *lines, last = text.split("\n")
    return [*lines, *([f"{last}\n\\ No newline at end of file"] if last else [])]


def _decoded(content: bytes, path: str) -> str:
    try:
        if b"\0" not in content:
            return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise ToolError(f"{path!r} is not a text file in UTF-8")


def _encoded(text: str) -> bytes:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError("the text has half a character (a surrogate), which no file can hold") from None
    if len(data) > MAX_BYTES:
        raise ToolError(f"the text has more than {MAX_BYTES:,} bytes; nothing was written")
    return data


def _near(text: str, wanted: str) -> str:
    """Return the line of a text that is most like the first line of the wanted text, with its number; or ""."""
    first = next((line for line in wanted.splitlines() if line.strip()), "").strip()[:200]
    lines = [line.strip()[:200] for line in text.splitlines()[:5000]]
    near = difflib.get_close_matches(first, lines, n=1, cutoff=0.7) if first else []
    return f"{lines.index(near[0]) + 1}: {near[0]!r}" if near else ""


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} [{len(line) - MAX_LINE:,} more characters]"


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_DIFF else f"{text[:MAX_DIFF]}\n[The rest of the differences is not shown]"
