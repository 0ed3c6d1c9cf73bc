"""The docs site: it is built without a warning, its links lead somewhere, and its reference lists every public name."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from types import FunctionType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pytest_examples import find_examples

from agentkit import errors

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LOADED = {"script", "link", "img", "iframe", "source", "video", "audio", "embed", "object"}


class Page(HTMLParser):
    """The links of a page, what it loads, and the names of its places."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attributes if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        for name in ("href", "src"):
            if name in values:
                (self.loaded if tag in LOADED else self.links).append(values[name])


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_link_within_the_site_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            exists = target.is_file() and (target not in pages or unquote(parts.fragment) in pages[target].places)
            if not exists:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert len(pages) > 40
    assert broken == []


def test_the_site_loads_nothing_from_outside(pages: dict[Path, Page]) -> None:
    outside = {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc}
    assert outside == set()


def test_the_landing_page_shows_a_picture_and_the_way_on_for_each_reader(site: Path, pages: dict[Path, Page]) -> None:
    landing = pages[site / "docs" / "index.html"]
    assert any("stepping" in link for link in landing.loaded)
    assert {"hold-a-run.html", "tutorials.html", "write-your-own.html"} <= set(landing.links)


# -- the reference -----------------------------------------------------------------------------------------------------


def of_packages() -> Iterator[str]:
    """Yield what `agentkit` and the packages in it list in `__all__`."""
    for path in [ROOT / "agentkit" / "__init__.py", *sorted((ROOT / "agentkit").glob("*/__init__.py"))]:
        package = ".".join(path.parent.relative_to(ROOT).parts)
        yield from (f"{package}.{name}" for name in getattr(importlib.import_module(package), "__all__", ()))


def of_errors() -> Iterator[str]:
    """Yield all errors."""
    for name, value in vars(errors).items():
        if inspect.isclass(value) and value.__module__ == errors.__name__:
            yield f"{errors.__name__}.{name}"


def of_examples() -> Iterator[str]:
    """Yield what the examples of the docs and of the notebooks import; pages of engines also show their sources."""
    sources = {path.read_text(encoding="utf-8") for path in (ROOT / "agentkit" / "engines").glob("*.py")}
    blocks = [example.source for example in find_examples(ROOT / "README.md", DOCS)]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        blocks += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for block in blocks:
        if block in sources or re.search(r"^%", block, re.MULTILINE):
            continue
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "agentkit":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def value_of(name: str) -> Any:
    """Import what a dotted name stands for; None if it stands for nothing, as the attribute of an instance."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            value = inspect.getattr_static(value, part, None) if inspect.isclass(value) else getattr(value, part, None)
        return value
    return None


class Reference:
    """What the site documents, from the inventory that Sphinx writes for other projects."""

    def __init__(self, site: Path) -> None:
        data = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
        lines = [line.split(" ", 2) for line in zlib.decompress(data).decode().splitlines()]
        self.names = {name for name, kind, _ in lines if kind.startswith("py:")}

    @cached_property
    def values(self) -> set[int]:
        return {id(value_of(name)) for name in self.names}

    def has(self, name: str) -> bool:
        return name in self.names or (value_of(name) is not None and id(value_of(name)) in self.values)


@pytest.fixture(scope="session")
def reference(site: Path) -> Reference:
    return Reference(site)


@pytest.fixture(scope="session")
def public() -> list[str]:
    """Return the public names, without modules and without what comes from other packages."""
    names = {*of_packages(), *of_errors(), *of_examples()}
    return sorted(name for name in names if not inspect.ismodule(value_of(name)) and is_ours(value_of(name)))


def is_ours(value: Any) -> bool:
    named = inspect.isclass(value) or inspect.isroutine(value)
    return not named or value.__module__.partition(".")[0] == "agentkit"


def test_the_reference_documents_every_public_name(reference: Reference, public: list[str]) -> None:
    assert {"agentkit.Agent", "agentkit.models.OpenAI", "agentkit.errors.ModelBusy"} <= set(public)
    missing = [name for name in public if not reference.has(name)]
    assert missing == [], "add these to a page in docs/reference/"


def test_the_reference_documents_every_method_and_property(reference: Reference, public: list[str]) -> None:
    missing = []
    for name in public:
        value = value_of(name)
        members = vars(value).items() if inspect.isclass(value) else ()
        kinds = property | classmethod | staticmethod | FunctionType
        shown = [member for member, part in members if not member.startswith("_") and isinstance(part, kinds)]
        missing += [f"{name}.{member}" for member in shown if not reference.has(f"{name}.{member}")]
    assert missing == [], "write docstrings for these"
