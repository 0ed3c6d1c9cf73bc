import pytest
from pydantic import BaseModel

from agentkit.errors import ArgumentsError, Unknown, UsageError
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox
from agentkit.tools.toolset import ToolSet


class Found(BaseModel):
    results: list[str]


class Shelf(ToolBox):
    """Does not call `super().__init__()`, as people write it."""

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
        raise RuntimeError("only tools are read")


def test_methods_are_collected_in_order_with_self_bound():
    shelf = Shelf(["Emma", "Ulysses"])
    assert [tool.name for tool in shelf] == ["find", "add", "size"]
    assert [tool.name for tool in shelf.discover_tools()] == ["find", "add", "size"]
    assert shelf.find("mm") == Found(results=["Emma"])
    assert shelf.get_tool("find").effect == "pure"
    assert list(shelf.get_tool("find").parameters["properties"]) == ["text"]


def test_two_boxes_of_a_class_do_not_share_their_self():
    first, second = Shelf(["a"]), Shelf(["b"])
    first.call_tool("add", {"title": "c"})
    assert (first.books, second.books) == (["a", "c"], ["b"])


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
    assert (box.name, len(box), [tool.name for tool in box]) == ("letters", 2, ["b", "a"])
    assert repr(box) == "<ToolBox letters: b, a>"


def test_a_subclass_may_replace_a_tool():
    class Other(Shelf):
        @tool
        def find(self, text: str):
            return "nothing"

    assert Other([]).call_tool("find", {"text": ""}) == "nothing"
    assert [tool.name for tool in Other([])] == ["find", "add", "size"]


def test_a_class_with_tools_that_is_not_a_toolbox_is_refused_with_what_to_write():
    class Shop:
        @tool
        def price(self, item: str) -> str:
            """Look up a price."""
            return "3"

    class Box(ToolBox):
        price = Shop.__dict__["price"]

    for source in (Shop, Shop()):
        with pytest.raises(UsageError, match=r"write class Shop\(ToolBox\), and pass Shop\(\)"):
            ToolSet.of(source)
    with pytest.raises(UsageError, match=r"@tool methods: pass Box\(\)"):
        ToolSet.of([Box])
    assert ToolSet.of(Box()).names == ("price",)


def test_only_an_attribute_of_a_class_takes_self_from_it():
    @tool
    def greet(self: str):
        return self

    class Box(ToolBox):
        hello = greet

    assert list(greet.parameters["properties"]) == ["self"] and greet("x") == "x"
    box = Box()
    assert box.hello() is box and box.get_tool("greet").parameters["properties"] == {}


def test_a_class_method_is_refused():
    class Box(ToolBox):
        @classmethod
        @tool
        def make(cls, text: str): ...

    with pytest.raises(UsageError, match="'make' is a class method"):
        len(Box())


def test_of_two_tools_with_one_name_the_first_is_used():
    box = ToolBox([tool(name="x")(lambda: 1), tool(name="y")(lambda: 2), tool(name="x")(lambda: 3)])
    assert [found.name for found in box] == ["x", "y"]
    assert box.call_tool("x", {}) == 1
