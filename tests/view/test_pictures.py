"""Plans, episodes and trees of thoughts are drawn from the roles and tags of steps, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from view.conftest import Viewed, paused

from agentkit import Answer, Chat, Think

View = Callable[..., Viewed]


def planning(task: Any) -> Any:
    """Make a plan, then perform its steps in order; the second one fails, and the third one is skipped."""
    chat = Chat.of(task)
    chat += yield Think(chat, role="plan")
    plan = ("look", "leap", "land")
    chat += yield Think(chat, tags={"plan": plan, "plan_step": 1})
    chat += yield Think(chat, tags={"plan": plan, "plan_step": 2})
    chat += yield Think(
        chat, role="synthesize", tags={"plan": plan, "plan_step": 4, "plan_states": {2: "failed", 3: "skipped"}}
    )
    return Answer("over", chat)


def trying(task: Any) -> Any:
    """Make two attempts, each with a judgement and a lesson."""
    chat = Chat.of(task)
    for episode, score in ((1, 0.2), (2, 0.9)):
        chat += yield Think(chat, tags={"episode": episode})
        chat += yield Think(chat, role="evaluate", tags={"episode": episode})
        chat += yield Think(chat, role="reflect", tags={"episode": episode, "score": score, "ok": score > 0.5})
    return Answer("over", chat)


def branching(task: Any) -> Any:
    """Propose two thoughts, score them, and continue from the second one."""
    chat = Chat.of(task)
    for node in ("1", "2"):
        chat += yield Think(chat, role="propose", tags={"node": node, "parent": ""})
        chat += yield Think(chat, role="evaluate", tags={"node": node})
    more = {"scores": {"1": 3, "2": 8}, "pruned": ["1"], "chosen": ["2", "2.1"]}
    chat += yield Think(chat, role="propose", tags={"node": "2.1", "parent": "2", **more})
    return Answer("over", chat)


def test_a_plan_is_a_check_list_with_the_state_of_each_step(view: View) -> None:
    viewed = view(paused("1 2 3", "seen", "fallen", "well", engine=planning))
    assert viewed.screen.pictures["plan"] == []
    viewed.settle("step", "step")
    assert states(viewed) == ["done", "doing", "todo"]
    viewed.settle("step", "step", "step")
    viewed.until(lambda: states(viewed) == ["done", "failed", "skipped"])
    assert [step["text"] for step in viewed.screen.pictures["plan"]] == ["look", "leap", "land"]
    viewed.settle("undo", "undo", "undo")
    viewed.until(lambda: states(viewed) == ["done", "doing", "todo"])


def states(viewed: Viewed) -> list[str]:
    return [step["state"] for step in viewed.screen.pictures["plan"]]


def test_episodes_have_a_score_and_a_lesson(view: View) -> None:
    viewed = view(paused("a", "bad", "look first", "b", "good", "keep at it", engine=trying))
    viewed.settle("play")
    viewed.until(lambda: len(viewed.screen.pictures["episodes"]) == 2)
    first, second = viewed.screen.pictures["episodes"]
    assert (first["score"], first["ok"], first["lesson"], first["entries"]) == (0.2, False, "look first", 3)
    assert (second["score"], second["ok"], second["lesson"]) == (0.9, True, "keep at it")


def test_the_overviews_are_updated_after_each_step(view: View) -> None:
    episodes = view(paused("a", "bad", "look first", engine=trying))
    for entries in (1, 2, 3):
        episodes.settle("step")
        episodes.until(
            lambda count=entries: [episode["entries"] for episode in episodes.screen.pictures["episodes"]] == [count]
        )
    assert episodes.screen.pictures["episodes"][0]["lesson"] == "look first"
    tree = view(paused("left", "3 of 10", engine=branching))
    tree.settle("step", "step")
    tree.until(lambda: [node["score"] for node in tree.screen.pictures["tree"]] == [3])


def test_thoughts_are_a_tree_with_scores_and_pruned_branches(view: View) -> None:
    viewed = view(paused("left", "3 of 10", "right", "8 of 10", "further right", engine=branching))
    viewed.settle("play")
    viewed.until(lambda: len(viewed.screen.pictures["tree"]) == 3)
    left, right, further = viewed.screen.pictures["tree"]
    assert (left["text"], left["score"], left["pruned"], left["chosen"]) == ("left", 3, True, False)
    assert (right["text"], right["score"], right["chosen"]) == ("right", 8, True)
    assert (further["parent"], further["text"], further["chosen"]) == ("2", "further right", True)


def test_a_card_shows_no_tags_that_are_about_other_steps(view: View) -> None:
    viewed = view(paused("left", "3 of 10", "right", "8 of 10", "further right", engine=branching))
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.total == 7)
    tags = [[tag["title"] for tag in card["tags"]] for card in viewed.screen.cards]
    assert tags[1] == ["node: 1"] and tags[5] == ["node: 2.1", "parent: 2"]


def with_other_tags(task: Any) -> Any:
    """Use the same tags for something else."""
    chat = Chat.of(task)
    chat += yield Think(
        chat, tags={"plan": 7, "plan_step": "x", "scores": [1], "episode": "one", "node": None, "pruned": 3}
    )
    return Answer("over", chat)


def test_tags_with_another_meaning_are_ignored(view: View) -> None:
    viewed = view(paused("ok", engine=with_other_tags))
    viewed.settle("play")
    assert viewed.screen.pictures == {"plan": [], "episodes": [], "tree": []} and viewed.screen.map == "btc"
