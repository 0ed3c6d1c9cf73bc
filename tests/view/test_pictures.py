"""Plans, episodes and trees of thoughts are drawn from the roles and tags of steps, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from view.conftest import Viewed, paused

from agentkit import Answer, Chat, Think

View = Callable[..., Viewed]


def planning(task: Any) -> Any:
    """Plan, then work on one step after the other; the second fails and the third is skipped."""
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
    """Try, be judged, learn, and try again."""
    chat = Chat.of(task)
    for episode, score in ((1, 0.2), (2, 0.9)):
        chat += yield Think(chat, tags={"episode": episode})
        chat += yield Think(chat, role="evaluate", tags={"episode": episode})
        chat += yield Think(chat, role="reflect", tags={"episode": episode, "score": score, "ok": score > 0.5})
    return Answer("over", chat)


def branching(task: Any) -> Any:
    """Propose two thoughts, score them, keep the second and go on from it."""
    chat = Chat.of(task)
    for node in ("1", "2"):
        chat += yield Think(chat, role="propose", tags={"node": node, "parent": ""})
        chat += yield Think(chat, role="evaluate", tags={"node": node})
    more = {"scores": {"1": 3, "2": 8}, "pruned": ["1"], "chosen": ["2", "2.1"]}
    chat += yield Think(chat, role="propose", tags={"node": "2.1", "parent": "2", **more})
    return Answer("over", chat)


def test_a_plan_is_a_check_list_that_fills(view: View) -> None:
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


def test_a_picture_keeps_up_with_a_run_that_is_stepped(view: View) -> None:
    episodes = view(paused("a", "bad", "look first", engine=trying))
    for entries in (1, 2, 3):
        episodes.settle("step")
        episodes.until(
            lambda many=entries: [each["entries"] for each in episodes.screen.pictures["episodes"]] == [many]
        )
    assert episodes.screen.pictures["episodes"][0]["lesson"] == "look first"
    tree = view(paused("left", "3 of 10", engine=branching))
    tree.settle("step", "step")
    tree.until(lambda: [each["score"] for each in tree.screen.pictures["tree"]] == [3])


def test_thoughts_are_a_tree_with_scores_and_pruned_branches(view: View) -> None:
    viewed = view(paused("left", "3 of 10", "right", "8 of 10", "further right", engine=branching))
    viewed.settle("play")
    viewed.until(lambda: len(viewed.screen.pictures["tree"]) == 3)
    left, right, further = viewed.screen.pictures["tree"]
    assert (left["text"], left["score"], left["pruned"], left["chosen"]) == ("left", 3, True, False)
    assert (right["text"], right["score"], right["chosen"]) == ("right", 8, True)
    assert (further["parent"], further["text"], further["chosen"]) == ("2", "further right", True)


def test_a_thought_wears_no_tag_that_tells_of_others(view: View) -> None:
    viewed = view(paused("left", "3 of 10", "right", "8 of 10", "further right", engine=branching))
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.total == 7)
    marks = [card["tags"] for card in viewed.screen.cards]
    assert marks[1] == {"node": "1"} and marks[5] == {"node": "2.1", "parent": "2"}


def strange(task: Any) -> Any:
    """Tags that mean something else."""
    chat = Chat.of(task)
    chat += yield Think(
        chat, tags={"plan": 7, "plan_step": "x", "scores": [1], "episode": "one", "node": None, "pruned": 3}
    )
    return Answer("over", chat)


def test_tags_that_mean_something_else_draw_nothing(view: View) -> None:
    viewed = view(paused("ok", engine=strange))
    viewed.settle("play")
    assert viewed.screen.pictures == {"plan": [], "episodes": [], "tree": []} and viewed.screen.map == "btc"
