import asyncio
import itertools
import json
import sys
import time

import pytest

from agentkit.core.messages import Call
from agentkit.errors import UsageError
from agentkit.tools.sources import read, source
from agentkit.tools.toolset import ToolSet

X = {
    "name": "x",
    "description": "d",
    "argument_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
    "output_schema": {},
}


class Foreign:
    """A toolbox of another library. Like a mock it has any attribute, so that only its real ones may be relied on."""

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


def test_a_toolbox_of_another_library_works():
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


def test_an_object_with_both_methods_is_a_source():
    class Kernel:
        def get_tool_schemas(self):
            return [OPENAI]

        async def execute_tool(self, tool_call):
            return tool_call["name"]

    assert asyncio.run(ToolSet.of([Kernel()]).find("n")(a=1)) == "n"


@pytest.mark.parametrize("key", ["parameters", "input_schema", "inputSchema", "argument_schema"])
def test_schemas_of_other_libraries_are_read(key):
    entry = {"name": "n", key: {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    assert list(ToolSet.of(source(lambda: [entry], execute)).find("n").parameters["properties"]) == ["a"]


class Broken(Foreign):
    @property
    def tool_json_list(self):
        return 1 / 0

    @tool_json_list.setter
    def tool_json_list(self, schemas): ...


def test_a_broken_toolbox_is_left_out_with_a_warning_and_the_others_work():
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        assert ToolSet.of([Broken(), search]).names == ("search",)
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert ToolSet.of([Foreign(schemas=[{"description": "no name"}, 3, X])]).names == ("x",)


async def cancelled():
    raise asyncio.CancelledError


async def hanging():
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("get_tool_schemas", "problem"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: sys.exit(3), "SystemExit: 3"),
        (cancelled, "CancelledError"),
        (hanging, "did not return within 0.2 s|TimeoutError"),
        (lambda: time.sleep(60), "it did not return within 0.2 s"),
        (lambda: {"name": "x"}, "it must return a list of schemas, not a dict"),
        (lambda: 5, "'int' object is not iterable"),
    ],
)
def test_a_source_that_fails_or_hangs_is_a_clear_error(get_tool_schemas, problem):
    begun = time.monotonic()
    with pytest.raises(UsageError, match=f"the schemas of a source of tools could not be read: .*({problem})") as error:
        read(source(get_tool_schemas, execute), 0.2)
    assert error.value.__cause__ is not None and time.monotonic() - begun < 30


def test_a_source_of_endless_or_unreadable_schemas_is_bounded():
    assert len(read(source(lambda: ({"name": f"t{n}"} for n in itertools.count()), execute), 30).tools) == 10_000
    with pytest.warns(RuntimeWarning, match="a tool schema cannot be read and is left out"):
        assert read(source(lambda: [3, X, {"name": object()}], execute)).tools[0].name == "x"


def test_an_async_toolbox_is_not_asked_before_the_call():
    class Async:
        tool_json_list = (X,)

        async def get_tool(self, name):
            raise AssertionError("this is never awaited")

        async def call_tool(self, name, args):
            return args["q"]

    found = ToolSet.of([Async()]).find("x")
    assert found.is_async
    assert asyncio.run(found(q="later")) == "later"
