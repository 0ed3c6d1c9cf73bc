"""Scripts for a brain: what it says, line by line, in a run of one engine. They are the same for OVOS and for us."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ACT = 'Thought: I look.\nAction: search\nAction Input: {"query": "Paris"}'
DONE = "Thought: I know.\nFINAL_ANSWER: 42"
PLAN = "1. Find it\n2. Say it"
FOLLOW = "Are follow up questions needed here? Yes.\nFollow up: Where is Paris?"
FINAL = "So the final answer is: 42"
CLAIM = "CLAIM: Paris is in Italy\nTOOL: search\nTOOL INPUT: Paris"
BAD, GOOD = "UNSATISFACTORY\nIt is wrong.", "SATISFACTORY\nIt is right."


@dataclass
class Script:
    """The lines that a brain says; `scores` are those that it says when it is asked for a score."""

    name: str
    engine: str
    lines: list[str]
    config: dict[str, Any] = field(default_factory=dict)
    tools: bool = True
    scores: list[str] = field(default_factory=list)


def react(name: str, *lines: str, tools: bool = True, **config: Any) -> Script:
    return Script(f"react: {name}", "ovos-react-loop", list(lines), config, tools)


def thought(name: str, *lines: str, **config: Any) -> Script:
    return Script(f"chain of thought: {name}", "ovos-chain-of-thought-loop", list(lines), config)


def plan(name: str, *lines: str, tools: bool = True, **config: Any) -> Script:
    return Script(f"plan: {name}", "ovos-plan-execute-loop", list(lines), config, tools)


def reflexion(name: str, *lines: str, tools: bool = True, **config: Any) -> Script:
    return Script(f"reflexion: {name}", "ovos-reflexion-loop", list(lines), config, tools)


def self_ask(name: str, *lines: str, tools: bool = True, **config: Any) -> Script:
    return Script(f"self-ask: {name}", "ovos-self-ask-loop", list(lines), config, tools)


def critic(name: str, *lines: str, tools: bool = True, **config: Any) -> Script:
    return Script(f"critic: {name}", "ovos-critic-loop", list(lines), config, tools)


def tree(name: str, lines: list[str], scores: list[str], **config: Any) -> Script:
    return Script(f"tree: {name}", "ovos-tree-of-thoughts-loop", lines, config, scores=scores)


def acting(arguments: str, tool: str = "search") -> str:
    return f"Thought: I look.\nAction: {tool}\nAction Input: {arguments}"


SCRIPTS = [
    react("the answer at once", DONE),
    react("the answer without a tool", "FINAL_ANSWER: 42", tools=False),
    react("plain text without tools", "It is 42.", tools=False),
    react("plain text with tools", "It is 42.", "FINAL_ANSWER: It is 42."),
    react("plain text with tools, and no repair", "It is 42.", repair=0),
    react("one call", ACT, DONE),
    react("three calls", ACT, ACT, ACT, DONE),
    react("a call with several arguments", acting('{"value": 3, "unit": "km"}', "convert"), DONE),
    react("a call with a nested object", acting('{"query": "a", "options": {"deep": {"er": 1}}}'), DONE),
    react("a brace in a string", acting('{"query": "a } b { c"}'), DONE),
    react("an escaped quote", acting('{"query": "say \\"hi\\""}'), DONE),
    react("arguments over several lines", acting('{\n  "query": "Paris"\n}'), DONE),
    react("arguments in a code fence", acting('```json\n{"query": "Paris"}\n```'), DONE),
    react("arguments with single quotes", acting("{'query': 'Paris'}"), DONE),
    react("a comma at the end of the arguments", acting('{"query": "Paris",}'), DONE),
    react("arguments that are a plain text", acting("Paris"), DONE),
    react("arguments that are cut off", acting('{"query": "Par'), DONE),
    react("an action without arguments", "Thought: now\nAction: now", DONE),
    react("an action with an empty object", acting("{}", "now"), DONE),
    react("a wrong name of a tool", acting('{"query": "x"}', "serch"), DONE),
    react("a name of a tool in backticks", acting('{"query": "x"}', "`search`"), DONE),
    react("a missing argument", acting("{}"), DONE),
    react("an argument of the wrong type", acting('{"value": "three", "unit": "km"}', "convert"), DONE),
    react("a number as a string", acting('{"value": "3", "unit": "km"}', "convert"), DONE),
    react("a tool that fails", acting('{"query": "x"}', "fail"), DONE),
    react("an answer in the middle of a line", "Thought: I know. FINAL_ANSWER: 42"),
    react("an answer with the name of the action in it", "FINAL_ANSWER: Action: search is not needed"),
    react("an action and an answer", f"{ACT}\n{DONE}", "FINAL_ANSWER: other"),
    react("an answer of several lines", "FINAL_ANSWER: one\ntwo\n\nthree"),
    react("a made-up observation", f"{ACT}\nObservation: Paris is in Texas.\n{DONE}", DONE),
    react("an empty answer", "FINAL_ANSWER:", DONE),
    react("an empty reply", "", DONE),
    react("bold markers", '**Thought:** x\n**Action:** search\n**Action Input:** {"query": "x"}', DONE),
    react("lower-case markers", 'thought: x\naction: search\naction input: {"query": "x"}', DONE),
    react("calls until the limit", ACT, ACT, DONE, max_iterations=2),
    react("calls beyond the limit", ACT, ACT, ACT, DONE, max_iterations=2),
    react("a limit that is a string", ACT, DONE, max_iterations="1"),
    react("a limit of zero", DONE, max_iterations=0),
    thought("an answer", "Step 1: 40\nFINAL ANSWER: 42"),
    thought("no marker", "I think that it is 42."),
    thought("a lower-case marker", "step 1\nfinal answer: 42"),
    thought("a bold marker", "Step 1\n**FINAL ANSWER:** 42"),
    thought("an answer in the middle of a line", "So we get FINAL ANSWER: 42"),
    thought("two answers", "FINAL ANSWER: 41\nNo, wait.\nFINAL ANSWER: 42"),
    thought("an answer of two lines", "FINAL ANSWER: 42\nbecause of 6 * 7"),
    thought("a call of a tool", ACT, DONE),
    plan("two steps", PLAN, "found", "said", "It is 42."),
    plan("two steps, and no repair", PLAN, "found", "said", "It is 42.", repair=0),
    plan("two steps with results", PLAN, "STEP_RESULT: found", "STEP_RESULT: said", "It is 42.", tools=False),
    plan("steps without tools", PLAN, "found", "said", "It is 42.", tools=False),
    plan("a step with a call", PLAN, ACT, DONE, DONE, "It is 42."),
    plan("a step with a call and its result", "1. Find it", ACT, "STEP_RESULT: found", "It is 42."),
    plan("a plan with parentheses", "1) Find it\n2) Say it", DONE, DONE, "It is 42."),
    plan("a plan after a sentence", f"Here is the plan:\n{PLAN}", DONE, DONE, "It is 42."),
    plan("a plan with bullets", "- Find it\n- Say it", DONE, DONE, "It is 42."),
    plan("a plan in bold", "1. **Find**: it\n2. **Say**: it", DONE, DONE, "It is 42."),
    plan("a plan as JSON", '["Find it", "Say it"]', DONE, DONE, "It is 42."),
    plan("more steps than allowed", "1. a\n2. b\n3. c", DONE, "It is 42.", max_steps=1),
    plan("no plan", "I cannot plan this.", DONE),
    plan("no plan without tools", "It is 42.", "It is 43.", tools=False),
    plan("calls until the limit of a step", "1. Find it", ACT, ACT, DONE, "It is 42.", max_step_iterations=2),
    plan("a step that fails", PLAN, "FAILED: no access", DONE, "It is 42.", tools=False),
    reflexion("satisfied at once", DONE, GOOD),
    reflexion("satisfied without tools", "42", GOOD, tools=False),
    reflexion("satisfied the second time", DONE, BAD, "Reflection: try again", "FINAL_ANSWER: 43", GOOD),
    reflexion("never satisfied", DONE, BAD, "r", "FINAL_ANSWER: 43", BAD, max_reflections=2),
    reflexion("one attempt", DONE, BAD, max_reflections=1),
    reflexion("a call in an attempt", ACT, DONE, GOOD),
    reflexion("a judgement in lower case", DONE, "satisfactory: yes"),
    reflexion("a judgement in bold", DONE, "**SATISFACTORY**\nfine"),
    reflexion("a judgement after a sentence", DONE, "Verdict:\nSATISFACTORY"),
    reflexion("a judgement that is neither", DONE, "Hm.", "r", "FINAL_ANSWER: 43", GOOD),
    reflexion("not satisfactory", DONE, "NOT SATISFACTORY", "r", "FINAL_ANSWER: 43", GOOD),
    self_ask("the answer at once", FINAL),
    self_ask("one question", FOLLOW, FINAL),
    self_ask("two questions, one after the other", FOLLOW, FOLLOW, FINAL),
    self_ask("two questions at once", f"{FOLLOW}\nFollow up: Where is Rome?", FINAL),
    self_ask("a named tool", "Tool: search\nTool Input: Paris", FINAL),
    self_ask("a named tool with an object", 'Tool: convert\nTool Input: {"value": 3, "unit": "km"}', FINAL),
    self_ask("an unknown tool", "Tool: lookup\nTool Input: Paris", FINAL),
    self_ask("a tool that fails", "Tool: fail\nTool Input: Paris", FINAL),
    self_ask("a made-up intermediate answer", f"{FOLLOW}\nIntermediate answer: Texas\n{FINAL}", FINAL),
    self_ask(
        "an answer in the middle of a line", "Are follow up questions needed here? No. So the final answer is: 42"
    ),
    self_ask("plain text", "It is 42."),
    self_ask("questions until the limit", FOLLOW, FOLLOW, FINAL, max_follow_ups=2),
    self_ask("questions without tools", FOLLOW, FINAL, FINAL, tools=False),
    critic("no tools", "Draft.", tools=False),
    critic("verified", "Draft.", "VERIFIED: all claims are correct"),
    critic("one claim", "Draft.", CLAIM, "Revised.", max_critique_rounds=1),
    critic("two claims", "Draft.", f"{CLAIM}\n{CLAIM}", "Revised.", "VERIFIED: yes"),
    critic("two rounds", "Draft.", CLAIM, "Revised.", CLAIM, "Again.", max_critique_rounds=2),
    critic("unverified", "Draft.", "UNVERIFIED: one claim\n" + CLAIM, "Revised.", "VERIFIED: yes"),
    critic("no claims", "Draft.", "It looks fine to me."),
    critic("an unknown tool", "Draft.", CLAIM.replace("search", "lookup"), "Revised.", max_critique_rounds=1),
    critic("a claim with an object", "Draft.", CLAIM + "\nmore", "Revised.", max_critique_rounds=1),
    critic("claims in lower case", "Draft.", CLAIM.lower(), "Revised.", max_critique_rounds=1),
    critic(
        "bold labels", "Draft.", "**CLAIM:** a\n**TOOL:** search\n**TOOL INPUT:** b", "Revised.", max_critique_rounds=1
    ),
    tree("the answer at once", ["ANSWER: 42"], [], n_branches=1),
    tree("the answer at the second level", ["think", "ANSWER: 42"], ["7"], n_branches=1, beam_width=1),
    tree("the answer at the end", ["think", "think", "ANSWER: 42"], ["7", "8"], n_branches=1, max_depth=2),
    tree("the answer without a marker", ["think", "42"], ["7"], n_branches=1, max_depth=1),
    tree("the better branch", ["weak", "strong", "ANSWER: 42"], ["3", "9"], n_branches=2, beam_width=1, max_depth=1),
    tree("an answer in the middle of a line", ["So the ANSWER: 42"], [], n_branches=1),
    tree("a lower-case answer", ["so, answer: 42"], [], n_branches=1),
    tree(
        "scores that are fractions",
        ["weak", "strong", "ANSWER: 42"],
        ["3/10", "9/10"],
        n_branches=2,
        beam_width=1,
        max_depth=1,
    ),
    tree("two answers", ["ANSWER: 41", "ANSWER: 42"], [], n_branches=2),
]
