"""Recorded runs of real models, replayed through the real agent: same answers, same numbers of calls."""

from __future__ import annotations

from typing import Any

from recordings import native_model, native_results, native_tools

from agentkit import Agent, tool
from agentkit.core.messages import message_from_dict
from agentkit.models.scripted import Scripted


def test_native_runs_give_their_recorded_answers_and_calls(recorded: Any) -> None:
    runs = recorded("native_runs.jsonl")
    assert len(runs) == 21
    for run in runs:
        model_calls, effects = [], []
        agent = Agent(
            native_model(run, lambda m=model_calls: m.append(1)), native_tools(run, effects.append), journal="memory"
        )
        result = agent.run([message_from_dict(message) for message in run["messages"]])
        expected = run["expected"]
        assert result.answer == expected["final_answer"], run["id"]
        assert (len(model_calls), len(effects)) == (expected["n_model_calls"], expected["n_tool_calls"]), run["id"]
        assert (result.step_count, result.tool_calls_count) == (expected["n_model_calls"], expected["n_tool_calls"])
        assert [effect.split(" ")[0] for effect in sorted(effects)] == sorted(expected["tool_sequence"])
        observed = [entry.result.text for entry in result.run.entries if entry.kind == "act"]
        assert set(observed) == set(native_results(run).values())


def play(line: dict[str, Any]) -> tuple[Any, Scripted, list[str]]:
    """Replay a published trajectory: its turns are the model, its observations the tools, in their order."""
    observations = [step["observation"] for step in line["steps"] if step["tool"] != "Finish"]
    asked: list[str] = []

    def observe(argument: str) -> str:
        asked.append(argument)
        return str(observations[len(asked) - 1])

    @tool(effect="pure")
    def search(entity: str) -> str:
        """Search for an entity."""
        return observe(entity)

    @tool(effect="pure")
    def lookup(keyword: str) -> str:
        """Look a keyword up in the last page."""
        return observe(keyword)

    model = Scripted(line["agentkit_turns"])
    return Agent(model, [search, lookup], journal="memory").run(line["question"]), model, asked


def test_published_trajectories_give_their_answers_and_calls(recorded: Any) -> None:
    lines = recorded("trajectories.jsonl")
    assert len(lines) == 21
    for line in lines:
        result, model, asked = play(line)
        expected = line["expected"]
        assert result.answer == expected["final_answer"], line["id"]
        assert (len(model.requests), len(asked)) == (expected["n_model_calls"], expected["n_tool_calls"]), line["id"]
        assert asked == [step["argument"] for step in line["steps"] if step["tool"] != "Finish"], line["id"]
