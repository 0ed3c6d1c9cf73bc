r"""Markdown of models, tools and people, drawn as HTML and written as Markdown that is safe to pass on.

The text is parsed into a tree of the few elements that agentkit draws, with the same rules as in
widgets/src/elements/markdown.ts; tests/markdown_cases.json checks both. No HTML is read: what is not in the tree is
text. Nothing that was written is hidden, so HTML, comments and definitions of references stay text. Lines break where
they were broken, as in a chat. Images are not loaded: their addresses are shown. Links lead only to `http`, `https` and
`mailto`, and show where.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from agentkit.export.escaping import (
    code_fence,
    escape_html,
    markdown_block,
    markdown_line,
    safe_head,
    safe_text,
)

MAX_MARKDOWN = 100_000
"""Longer texts are not taken for Markdown, and are shown as they were written."""

_MAX_NESTING = 20
_MAX_FORMULA = 2_000
"""The longest formula that is recognized: a dollar sign is usually the sign of a currency."""

_RULES = (
    *("table", "code", "fence", "blockquote", "hr", "list", "heading", "lheading"),
    *("newline", "escape", "backticks", "strikethrough", "emphasis", "link", "image", "autolink", "entity"),
)
_TAGS = {
    *("p", "ul", "ol", "li", "blockquote", "hr", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"),
    *("strong", "em", "s", "a", "br", "span", "figure", "figcaption"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_CELL = "text-align:left;padding:.1em .6em;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.3)"
_STYLES = {
    "p": "white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0",
    "li": "white-space:pre-wrap;overflow-wrap:anywhere",
    "pre": "white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0;padding:.3em .6em;"
    "background:rgba(128,128,128,.12)",
    "blockquote": "margin:.3em 0;padding-left:.6em;border-left:3px solid rgba(128,128,128,.4)",
    "figure": "margin:.3em 0",
    "figcaption": "font-size:.85em",
    "table": "border-collapse:collapse",
    "th": _CELL,
    "td": _CELL,
}


@dataclass(slots=True)
class Element:
    """An element of the tree; its children are elements and texts."""

    kind: str
    children: list[Node] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


Node = Element | str


@dataclass(slots=True)
class Block:
    """A block that stands by itself, such as a paragraph or a table, and the line that it begins at."""

    line: int
    nodes: list[Node]


# -- HTML --------------------------------------------------------------------------------------------------------------


def to_html(value: str, limit: int = 0) -> str:
    """Return Markdown as HTML that has passed the sanitizer; after `limit` characters (0: none), it ends with the last
    block that is complete, and a note.
    """
    import nh3

    blocks, note = _blocks_and_note(value, limit)
    drawn = "".join(_html(node) for block in blocks for node in block.nodes)
    styled = {tag: {"style": style} for tag, style in _STYLES.items()}
    clean = nh3.clean(
        drawn,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={**styled, "a": {"target": "_blank"}},
    )
    return f"{clean}<p><i>{note}</i></p>" if note else clean


def _html(node: Node) -> str:
    if isinstance(node, str):
        return escape_html(node)
    if node.kind == "br":
        return "<br>"
    if node.kind == "hr":
        return "<hr>"
    inside = "".join(map(_html, node.children))
    if node.kind == "pre":
        language = node.attributes.get("language")
        caption = f"<figcaption>{escape_html(language)}</figcaption>" if language else ""
        return f"<figure>{caption}<pre><code>{inside}</code></pre></figure>"
    if node.kind == "a":
        address, shown = node.attributes["href"], shown_address(node.attributes["href"])
        title = f"{node.attributes['title']}\n{address}" if "title" in node.attributes else address
        link = f'<a href="{escape_html(address)}" title="{escape_html(title)}">{inside or escape_html(shown)}</a>'
        return link if _is_address(node) else f"{link} ({escape_html(shown)})"
    if node.kind == "img":
        return f"[image: {inside} ({escape_html(node.attributes['src'])})]"
    if node.kind in _HEADINGS:
        return f"<p><strong>{inside}</strong></p>"
    tag = {"math": "span", "mathblock": "p"}.get(node.kind, node.kind)
    start = f' start="{int(node.attributes["start"])}"' if node.kind == "ol" and "start" in node.attributes else ""
    return f"<{tag}{start}>{inside}</{tag}>"


_HEADINGS = {f"h{level}" for level in range(1, 7)}


def _is_address(link: Element) -> bool:
    """Return whether the text of a link is the address that it leads to, or nothing."""
    address = link.attributes["href"]
    return not link.children or link.children in (
        [address],
        [shown_address(address)],
        [address.removeprefix("mailto:")],
    )


# -- Markdown ----------------------------------------------------------------------------------------------------------


def to_markdown(value: str, limit: int = 0) -> str:
    """Return Markdown that reads as it was meant and does no harm: written again from its tree, all its texts escaped.

    It stands in a quote, and its headings are bold text, so that it cannot be taken for the document around it. A text
    without any markup is a plain block.
    """
    blocks, note = _blocks_and_note(value, limit)
    if _is_plain(blocks):
        return markdown_block(value, limit)
    parts = ["\n".join(lines) for block in blocks if (lines := list(_lines(block.nodes)))]
    text = "\n\n".join([*parts, f"*{note}*"] if note else parts)
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def is_plain(value: str, limit: int = 0) -> bool:
    """Return whether a text, up to `limit` characters of it, reads the same as Markdown and as it was written."""
    return _is_plain(_blocks_and_note(value, limit)[0])


def _is_plain(blocks: list[Block]) -> bool:
    return all(
        isinstance(node, Element)
        and node.kind == "p"
        and all(isinstance(child, str) or child.kind == "br" for child in node.children)
        for block in blocks
        for node in block.nodes
    )


_INLINE = {"strong", "em", "s", "a", "img", "br", "code", "math"}
_MARKS = {"strong": "**", "em": "*", "s": "~~"}


def _lines(nodes: list[Node]) -> Iterator[str]:
    """Yield the lines of blocks, or of what stands in the lines of a block."""
    is_first, inline = True, list[Node]()
    for node in nodes:
        if isinstance(node, str) or node.kind in _INLINE:
            inline.append(node)
            continue
        yield from _inline_lines(inline) if inline else ()
        is_tight = inline and node.kind in ("ul", "ol") and node.attributes.get("start", "1") == "1"
        if not is_tight and (inline or not is_first):
            yield ""
        inline, is_first = [], False
        yield from _block_lines(node)
    yield from _inline_lines(inline) if inline else ()


def _block_lines(node: Element) -> Iterator[str]:
    if node.kind == "pre":
        yield from code_fence(_text_of(node), node.attributes.get("language", "")).split("\n")
    elif node.kind in ("ul", "ol"):
        first = int(node.attributes.get("start", 1))
        for number, item in enumerate(node.children, first):
            mark = "- " if node.kind == "ul" else f"{number}. "
            lines = list(_lines(item.children if isinstance(item, Element) else [item])) or [""]
            yield f"{mark}{lines[0]}".rstrip()
            yield from (f"{' ' * len(mark)}{line}".rstrip() for line in lines[1:])
    elif node.kind == "blockquote":
        yield from (f"> {line}".rstrip() for line in _lines(node.children))
    elif node.kind == "hr":
        yield "---"
    elif node.kind == "table":
        rows = [row for part in node.children if isinstance(part, Element) for row in part.children]
        for number, row in enumerate(row for row in rows if isinstance(row, Element)):
            cells = [_inline(cell.children) for cell in row.children if isinstance(cell, Element)]
            yield f"| {' | '.join(cell.replace(chr(10), ' ') for cell in cells)} |"
            if number == 0:
                yield f"|{' --- |' * len(cells)}"
    elif node.kind in _HEADINGS:
        yield from _inline_lines([Element("strong", _without_strong(node.children))])
    else:  # a paragraph, or a formula
        yield from _inline_lines(node.children)


def _inline_lines(nodes: list[Node]) -> list[str]:
    """Return the lines of a paragraph; each but the last ends with a backslash, which breaks it."""
    lines = [line.rstrip() for line in _inline(nodes).split("\n")]
    return [
        f"{line}\\" if line and following else line for line, following in zip(lines, [*lines[1:], ""], strict=True)
    ]


def _inline(nodes: list[Node], *, starts_line: bool = True) -> str:
    """Return what stands in the lines of a block, a line break where there is one; all its texts are escaped."""
    result = ""
    for node in nodes:
        at_start = result.endswith("\n") or (not result and starts_line)
        result += _inline_text(node, at_start)
    return result


def _inline_text(node: Node, at_start: bool) -> str:
    if isinstance(node, str):
        return markdown_line(node, is_start=at_start)
    if node.kind == "br":
        return "\n"
    if node.kind in _MARKS:
        mark, inside = _MARKS[node.kind], _inline(node.children, starts_line=False)
        return f"{mark}{inside}{mark}"
    if node.kind == "code":
        return _code_span(_text_of(node))
    if node.kind == "a":
        address, inside = node.attributes["href"], _inline(node.children, starts_line=False)
        shown = markdown_line(shown_address(address), is_start=False)
        # notebooks look for formulas in addresses, too
        link = f"[{(inside or shown).replace(chr(10), ' ')}](<{address.replace('$', '%24')}>)"
        return link if _is_address(node) else f"{link} ({shown})"
    if node.kind == "img":
        image = f"[image: {_text_of(node)} ({node.attributes['src']})]"
        return markdown_line(image, is_start=at_start)
    return markdown_line(_text_of(node), is_start=at_start)


def _code_span(text: str) -> str:
    """Return code in a line, between more backticks than it contains; a notebook finds no formula in it."""
    body = safe_text(text).replace("\n", " ").replace("|", "\\|" if "|" in text else "|")
    ticks = "`" * (1 + max(map(len, re.findall("`+", body)), default=0))
    space = " " if body.startswith("`") or body.endswith("`") else ""
    return f"{ticks}{space}{body}{space}{ticks}"


def _without_strong(nodes: list[Node]) -> list[Node]:
    """Return nodes whose strong parts are like the rest: bold text in bold text has no marks of its own."""
    flat: list[Node] = []
    for node in nodes:
        flat += node.children if isinstance(node, Element) and node.kind == "strong" else [node]
    return flat


def _text_of(node: Node) -> str:
    return node if isinstance(node, str) else "".join(map(_text_of, node.children))


# -- the tree ----------------------------------------------------------------------------------------------------------


def safe_address(written: str) -> str:
    """Return the address of a link in its normal form; "" if it may not be opened, and the link stays text."""
    site = _SITE.fullmatch(written)
    host = _host(site[2]) if site else ""
    if site and host:
        return f"{site[1].lower()}://{host}{site[3] or ''}{_encoded(site[4] or '/')}"
    mail = _MAIL.fullmatch(written)
    return f"mailto:{_encoded(mail[1])}" if mail else ""


# no names and passwords before the site, which would be read as the site
_SITE = re.compile(r"(?i)(https?)://([^\s\\/?#@:%<>\[\]^|\"'`]+)(:\d{1,4})?([/?#][^\s\\]*)?")
_MAIL = re.compile(r"(?i)mailto:([^\s\\]+)")
# sites that not every reader understands: too long, or a number that is not a complete address
_UNCLEAR_SITE = re.compile(r"\u1e9e|[^.]{64}|^.{254}|(^|\.)([0-9]+|0[xX][0-9a-fA-F]*)\.?$")
_IP_ADDRESS = re.compile(r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(?!$)|$)){4}")


def _host(site: str) -> str:
    """Return a site in its normal form, that of UTS 46; "" if a reader might take it for another one."""
    import idna

    if any(not character.isascii() and not _is_letter_or_digit(character) for character in site):
        return ""
    try:
        host = site.lower() if site.isascii() else idna.encode(site, uts46=True).decode()
    except UnicodeError:
        return ""
    is_unclear = _UNCLEAR_SITE.search(site) or _UNCLEAR_SITE.search(host)
    return "" if is_unclear and not _IP_ADDRESS.fullmatch(site) else host


def _is_letter_or_digit(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd"


def _encoded(rest: str) -> str:
    return quote(rest, safe="%/:?#[]@!$&'()*+,;=~._-", errors="replace")


def shown_address(address: str) -> str:
    """Return what is shown of an address: all of it, or the site that a long one leads to."""
    if len(address) <= 60 or address.startswith("mailto:"):
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}/…"


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a text that is safe already (`agentkit.export.escaping.safe_text`)."""
    if len(text) > MAX_MARKDOWN:
        return [_as_written(text)]
    tokens = _parser().parse(text)
    if _is_too_deep(tokens):
        return [_as_written(text)]
    blocks, at = [], iter(tokens)
    for token in at:
        blocks.append(Block(token.map[0] if token.map else 0, _nodes(token, at)))
    return blocks


def _blocks_and_note(value: str, limit: int) -> tuple[list[Block], str]:
    """Return the blocks of a text; of a long one, those that are complete, and a note of how much is missing."""
    if not limit or len(value) <= limit:
        return blocks_of(safe_text(value)), ""
    head = safe_head(value, limit)
    blocks = blocks_of(head)
    if len(blocks) > 1:
        *blocks, last = blocks
        head = "\n".join(head.split("\n")[: last.line])
    elif "\n" in head:
        head = head.rpartition("\n")[0]  # between two rows of a table, two lines of code
        blocks = blocks_of(head)
    return blocks, f"… (+{len(value) - len(head):,} characters)"


def _as_written(text: str) -> Block:
    children: list[Node] = []
    for line in text.split("\n"):
        children += [line, Element("br")]
    return Block(0, [Element("p", children[:-1])])


def _is_too_deep(tokens: list[Any]) -> bool:
    """Return whether something is nested so deeply that the parser drops what is in it."""
    depth = 0
    for token in tokens:
        depth += token.nesting
        if depth >= _MAX_NESTING or (token.children and _is_too_deep(token.children)):
            return True
    return False


def _nodes(token: Any, following: Iterator[Any]) -> list[Node]:
    """Return what a token stands for, with the tokens that follow it up to the one that closes it."""
    if token.type == "inline":
        inside = iter(token.children or ())
        return [node for child in inside for node in _nodes(child, inside) if node != ""]
    if token.nesting != 1:
        return [_leaf(token)]
    children: list[Node] = []
    for child in following:
        if child.nesting == -1:
            break
        children += _nodes(child, following)
    attributes = _attributes(token)
    leads_nowhere = token.type == "link_open" and "href" not in attributes
    return children if token.hidden or leads_nowhere else [Element(token.tag, children, attributes)]


def _leaf(token: Any) -> Node:
    if token.type in ("fence", "code_block"):
        return Element("pre", [token.content.removesuffix("\n")], {"language": token.info.strip()})
    if token.type == "code_inline":
        return Element("code", [token.content])
    if token.type == "math":
        return Element("mathblock" if token.block else "math", _as_lines(token.content))
    if token.type == "image":
        return Element("img", [token.content], {"src": "", **_attributes(token)})
    if token.type in ("softbreak", "hardbreak"):
        return Element("br")
    if token.type == "hr":
        return Element("hr")
    return str(token.content)


def _as_lines(text: str) -> list[Node]:
    """Return a text whose line breaks are elements."""
    nodes: list[Node] = []
    for line in text.split("\n"):
        nodes += [line, Element("br")]
    return [node for node in nodes[:-1] if node != ""]


def _attributes(token: Any) -> dict[str, str]:
    names = ("href", "src", "title", "start")
    return {name: str(value) for name in names if (value := token.attrs.get(name))}


# -- rules -------------------------------------------------------------------------------------------------------------


@functools.cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser: Any = MarkdownIt("zero", {"maxNesting": _MAX_NESTING}).enable(list(_RULES))
    parser.normalizeLink = safe_address
    parser.normalizeLinkText = str
    parser.validateLink = bool
    parser.inline.ruler.at("newline", _line_break)
    parser.inline.ruler.before("escape", "math", _inline_math)
    parser.block.ruler.before("fence", "math", _block_math, {"alt": ["paragraph", "blockquote", "list"]})
    return parser


def _line_break(state: Any, silent: bool) -> bool:
    """Read a line break where the line was broken; the spaces that the next line begins with stay."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("hardbreak", "br", 0)
    state.pos += 1
    return True


_DOLLARS = re.compile(r"\$\$[^$]+\$\$|\$(?![\s$])[^$\n]*[^\s$\\]\$(?![\d$])")


def _inline_math(state: Any, silent: bool) -> bool:
    r"""Read a formula: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]`. It stays as it was written."""
    if state.src[state.pos] not in "$\\":
        return False
    text = state.src[state.pos : min(state.posMax, state.pos + _MAX_FORMULA)]
    found = _DOLLARS.match(text)
    formula = found[0] if found else _escaped_math(text)
    if not formula:
        return False
    if not silent:
        state.push("math", "", 0).content = formula
    state.pos += len(formula)
    return True


def _escaped_math(text: str) -> str:
    closing = {"\\(": "\\)", "\\[": "\\]"}.get(text[:2])
    end = text.find(closing, 2) if closing else -1
    return "" if end < 0 else text[: end + 2]


def _block_math(state: Any, first: int, end: int, silent: bool) -> bool:
    r"""Read a formula of its own lines: from `$$` or `\[` to a line that ends with `$$` or `\]`, or to an empty one."""
    if state.sCount[first] - state.blkIndent >= 4:
        return False

    def line_at(line: int) -> str:
        return str(state.getLines(line, line + 1, state.blkIndent, False)).strip()

    opening = line_at(first)
    closing = {"$$": "$$", "\\[": "\\]"}.get(opening[:2], "")
    is_closed = len(opening) > 3 and opening.endswith(closing)
    if not closing or (len(opening) > 2 and not is_closed):
        return False
    if silent:
        return True
    following = first + 1
    while not is_closed and following < end and state.sCount[following] >= state.blkIndent and line_at(following):
        is_closed = line_at(following).endswith(closing)
        following += 1
    token = state.push("math", "", 0)
    token.block, token.map = True, [first, following]
    token.content = state.getLines(first, following, state.blkIndent, False).strip()
    state.line = following
    return True
