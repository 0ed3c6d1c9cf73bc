import asyncio
import json

import pytest

from agentkit.core.messages import Call
from agentkit.errors import UsageError
from agentkit.tools.sources import ToolSet, source
from agentkit.tools.tool import ToolBox, tool

X = {
    "name": "x",
    "description": "d",
    "argument_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
    "output_schema": {},
}


class Foreign:
    """A toolbox of another make; like a mock, it answers to any name, so that it is known by what it really has."""

    def __init__(self, result="ok", schemas=(X,), lookup=lambda name: object()):
        self.tool_json_list = list(schemas)
        self.result, self.get_tool, self.calls = result, lookup, []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None

    def __call__(self, *args, **kwargs):
        raise AssertionError("a toolbox is not a function")

    def call_tool(self, name, args):
        self.calls.append((name, args))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def search(query: str):
    return query


def lookup(key: str):
    return key


def test_functions_tools_boxes_and_lists_are_collected_in_order():
    tools = ToolSet.of([search, [tool(lookup)], ToolBox([lambda_named("third")]), Foreign()])
    assert [each.name for each in tools.tools] == ["search", "lookup", "third", "x"]
    assert [each.name for each in ToolSet.of(search)] == ["search"]
    assert len(ToolSet.of(None)) == 0
    assert ToolSet.of(ToolSet.of([search])).names == ("search",)


def lambda_named(name):
    return tool(name=name)(lambda: name)


def test_a_toolbox_of_another_make_works():
    box = Foreign()
    found = ToolSet.of([box]).find("x")
    assert found.schema == X
    assert found.function(**found.bind(Call("x", {"q": "1"}))[0]) == "ok"
    assert box.calls == [("x", {"q": "1"})]


def down(name):
    raise RuntimeError("down")


@pytest.mark.parametrize("lookup", [down, lambda name: None])
def test_when_the_first_lookup_fails_the_second_box_is_used(lookup):
    first, second = Foreign("first", lookup=lookup), Foreign("second")
    assert ToolSet.of([first, second]).find("x")(q="1") == "second"
    assert first.calls == []


def test_when_the_tool_itself_raises_no_second_box_is_tried():
    first, second = Foreign(KeyError("k")), Foreign()
    with pytest.raises(KeyError):
        ToolSet.of([first, second]).find("x")(q="1")
    assert second.calls == []


def test_a_tool_that_no_box_has_any_more_is_not_found():
    assert ToolSet.of([Foreign(lookup=lambda name: None)]).find("x") is None


def test_the_first_of_two_with_one_name_is_offered_and_found():
    tools = ToolSet.of([tool(name="x")(lambda: 1), Foreign()])
    assert len(tools) == 1
    assert tools.find("x")() == 1


def test_a_name_is_found_however_it_is_decorated_but_never_guessed():
    tools = ToolSet.of([search, lambda_named("web_search"), lambda_named("web search"), lambda_named("skill.discover")])
    assert (
        tools.find("**search**").name == tools.find("`Search`").name == tools.find("search(query='x')").name == "search"
    )
    assert tools.find("Skill Discover").name == "skill.discover"
    assert tools.find("WebSearch") is None
    assert tools.find("sear") is tools.find("") is None


OPENAI = {
    "type": "function",
    "function": {
        "name": "n",
        "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}


def test_a_pair_of_callables_with_one_argument_gets_the_tool_call():
    calls = []
    tools = ToolSet.of([source(lambda: [OPENAI], lambda tool_call: calls.append(tool_call) or "done")])
    assert tools.find("n")(a=1) == "done"
    (call,) = calls
    assert (call["name"], call["arguments"], call["type"]) == ("n", {"a": 1}, "function")
    assert json.loads(call["function"]["arguments"]) == {"a": 1} and call["id"]


@pytest.mark.parametrize(
    "execute",
    [lambda name, args: (name, args), lambda name, arguments=None: (name, arguments), lambda n, a, retries=3: (n, a)],
)
def test_a_pair_of_callables_with_two_arguments_gets_name_and_arguments(execute):
    assert ToolSet.of(source(lambda: [OPENAI], execute)).find("n")(a=1) == ("n", {"a": 1})


async def schemas():
    return [OPENAI]


async def execute(tool_call):
    return tool_call["name"]


def test_an_async_pair_works_outside_and_inside_a_running_loop():
    async def inside():
        found = ToolSet.of([source(schemas, execute)]).find("n")
        assert found.is_async
        return await found(a=1)

    assert asyncio.run(inside()) == "n"
    assert ToolSet.of([source(schemas, execute)]).names == ("n",)


def test_the_caller_may_run_an_async_provider_on_its_own_loop():
    waited = []
    tools = ToolSet.of([source(schemas, execute)], await_with=lambda waiting: waited.append(1) or asyncio.run(waiting))
    assert (tools.names, waited) == (("n",), [1])


def test_an_object_with_both_callables_is_a_source():
    class Kernel:
        def get_tool_schemas(self):
            return [OPENAI]

        async def execute_tool(self, tool_call):
            return tool_call["name"]

    assert asyncio.run(ToolSet.of([Kernel()]).find("n")(a=1)) == "n"


@pytest.mark.parametrize("word", ["parameters", "input_schema", "inputSchema", "argument_schema"])
def test_schemas_of_other_makes_are_read(word):
    entry = {"name": "n", word: {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    assert list(ToolSet.of(source(lambda: [entry], execute)).find("n").parameters["properties"]) == ["a"]


def test_a_broken_source_is_left_out_with_a_warning_and_harms_no_other():
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        assert ToolSet.of([source(lambda: 1 / 0, execute), search]).names == ("search",)
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert ToolSet.of([Foreign(schemas=[{"description": "no name"}, 3, X])]).names == ("x",)


def test_an_async_toolbox_is_not_asked_before_the_call():
    class Async:
        tool_json_list = (X,)

        async def get_tool(self, name):
            raise AssertionError("nobody waits for this")

        async def call_tool(self, name, args):
            return args["q"]

    found = ToolSet.of([Async()]).find("x")
    assert found.is_async
    assert asyncio.run(found(q="later")) == "later"


@pytest.mark.parametrize("wrong", ["search", 3, {"name": "x"}, b"x"])
def test_what_is_no_source_is_refused(wrong):
    with pytest.raises(UsageError, match="is no tool"):
        ToolSet.of([wrong])
