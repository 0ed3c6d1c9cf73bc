import pytest

from agentkit.errors import UsageError
from agentkit.tools.sources import source
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox
from agentkit.tools.toolset import ToolSet

X = {"name": "x", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}


def search(query: str):
    return query


def lookup(key: str):
    return key


def named(name):
    return tool(name=name)(lambda: name)


def test_functions_tools_toolboxes_and_lists_are_collected_in_order():
    tools = ToolSet.of([search, [tool(lookup)], ToolBox([named("third")]), source(lambda: [X], print)])
    assert [found.name for found in tools.tools] == ["search", "lookup", "third", "x"]
    assert [found.name for found in ToolSet.of(search)] == ["search"]
    assert len(ToolSet.of(None)) == 0
    assert ToolSet.of(ToolSet.of([search])).names == ("search",)


def test_of_two_tools_with_one_name_the_first_is_offered_and_found():
    tools = ToolSet.of([tool(name="x")(lambda: 1), source(lambda: [X], print)])
    assert len(tools) == 1
    assert tools.find("x")() == 1


def test_a_name_is_found_however_it_is_decorated_but_never_guessed():
    tools = ToolSet.of([search, named("web_search"), named("web search"), named("skill.discover")])
    assert (
        tools.find("**search**").name == tools.find("`Search`").name == tools.find("search(query='x')").name == "search"
    )
    assert tools.find("Skill Discover").name == "skill.discover"
    assert tools.find("WebSearch") is None
    assert tools.find("sear") is tools.find("") is None


@pytest.mark.parametrize("wrong", ["search", 3, {"name": "x"}, b"x"])
def test_anything_but_a_source_of_tools_is_refused(wrong):
    with pytest.raises(UsageError, match="is not a tool"):
        ToolSet.of([wrong])
