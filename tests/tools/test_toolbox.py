import pytest
from pydantic import BaseModel

from agentkit.errors import ArgumentsError, Unknown, UsageError
from agentkit.tools.sources import ToolSet
from agentkit.tools.tool import ToolBox, tool


class Found(BaseModel):
    results: list[str]


class Shelf(ToolBox):
    """Without a call of super().__init__, as people write it."""

    def __init__(self, books):
        self.books = books

    @tool(effect="pure")
    def find(self, text: str) -> Found:
        """Find books."""
        return Found(results=[book for book in self.books if text in book])

    @tool
    def add(self, title: str):
        self.books.append(title)

    @staticmethod
    @tool
    def size(titles: list[str]) -> int:
        return len(titles)

    @property
    def broken(self):
        raise RuntimeError("only tools are looked at")


def test_methods_are_collected_in_order_with_self_bound():
    shelf = Shelf(["Emma", "Ulysses"])
    assert [each.name for each in shelf] == ["find", "add", "size"]
    assert [each.name for each in shelf.discover_tools()] == ["find", "add", "size"]
    assert shelf.find("mm") == Found(results=["Emma"])
    assert shelf.get_tool("find").effect == "pure"
    assert list(shelf.get_tool("find").parameters["properties"]) == ["text"]


def test_two_boxes_of_a_class_do_not_share_their_self():
    one, other = Shelf(["a"]), Shelf(["b"])
    one.call_tool("add", {"title": "c"})
    assert (one.books, other.books) == (["a", "c"], ["b"])


def test_a_box_describes_itself_with_four_keys():
    entry = Shelf([]).tool_json_list[0]
    assert entry["name"] == "find" and entry["description"] == "Find books."
    assert entry["argument_schema"]["required"] == ["text"]
    assert entry["output_schema"]["properties"]["results"]["type"] == "array"


def test_calling_by_name_checks_the_arguments():
    shelf = Shelf(["Emma"])
    assert shelf.call_tool("find", {"text": "E"}) == Found(results=["Emma"])
    with pytest.raises(ArgumentsError, match="text"):
        shelf.call_tool("find", {})
    with pytest.raises(Unknown, match="did you mean 'find'"):
        shelf.call_tool("fin", {})
    assert shelf.get_tool("fin") is None


def test_a_box_of_functions_has_a_name_and_keeps_their_order():
    def b(): ...
    def a(): ...

    box = ToolBox([b, a], name="letters")
    assert (box.name, len(box), [each.name for each in box]) == ("letters", 2, ["b", "a"])
    assert repr(box) == "<ToolBox letters: b, a>"


def test_a_subclass_may_replace_a_tool():
    class Other(Shelf):
        @tool
        def find(self, text: str):
            return "nothing"

    assert Other([]).call_tool("find", {"text": ""}) == "nothing"
    assert [each.name for each in Other([])] == ["find", "add", "size"]


def test_a_class_with_tools_that_is_no_toolbox_is_told_how_to_become_one():
    class Shop:
        @tool
        def price(self, item: str) -> str:
            """Look up a price."""
            return "3"

    class Box(ToolBox):
        price = Shop.__dict__["price"]

    for given in (Shop, Shop()):
        with pytest.raises(UsageError, match=r"write class Shop\(ToolBox\), and give Shop\(\)"):
            ToolSet.of(given)
    with pytest.raises(UsageError, match=r"@tool methods: give Box\(\)"):
        ToolSet.of([Box])
    assert ToolSet.of(Box()).names == ("price",)
