"""Record what a model replies, and play it back: one JSON file, for people to read and for tests to rely on."""

from __future__ import annotations

import copy
import json
import threading
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal, get_args

from agentkit.core import outside
from agentkit.core.checked_arguments import checked_names
from agentkit.core.declared_types import type_problem
from agentkit.core.messages import Reply, call_from_json, call_to_json, canonical, digest
from agentkit.core.secrets import mask_json
from agentkit.core.usage import Usage
from agentkit.errors import JournalTooNew, ModelError, NotRecorded, UsageError
from agentkit.inert import inert
from agentkit.models.base import Abilities, Request, name_of
from agentkit.models.recording_file import save

Mode = Literal["replay", "record", "auto"]
VERSION = 1
_ABILITIES = tuple(field.name for field in fields(Abilities))


class Cassette:
    """A model that plays recorded replies, and with "record" or "auto" asks `model` and records its replies.

    `tape` is the path of a JSON file, or a dict of the same form. A request is recognized by everything that would be
    sent. If it was recorded several times, it gets those replies in order, and then the last one again. Secrets are
    masked before they are stored. "record" starts the tape afresh, "auto" asks only for what is missing. Raises
    `NotRecorded` for a request that is not on the tape, and shows the closest one that is.
    """

    @checked_names
    def __init__(self, tape: str | Path | dict[str, Any], model: Any = None, mode: Mode = "replay") -> None:
        if mode not in get_args(Mode):
            raise UsageError(f"the mode of a cassette must be one of {', '.join(get_args(Mode))}, not {mode!r}")
        if mode != "replay" and model is None:
            raise UsageError(f"a cassette in mode {mode!r} needs the model to record: Cassette(tape, model, {mode!r})")
        self.mode = mode
        self.model = model
        self.path = None if isinstance(tape, dict) else outside.path_of(tape, "a cassette")
        self.tape = _load(self.path or tape, must_exist=mode == "replay")
        if mode == "record":
            self.tape["recordings"] = []
        if model is not None:
            self.tape["model"] = name_of(model)
            self.tape["abilities"] = asdict(getattr(model, "abilities", Abilities()))
        self.name = str(self.tape.get("model", "cassette"))
        self.abilities = Abilities(**{name: bool(self.tape.get("abilities", {}).get(name)) for name in _ABILITIES})
        self._played: dict[str, int] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def rewound(self) -> Cassette:
        """Return the same tape, played from its beginning, for another run; what is on it now is not recorded again."""
        other = copy.copy(self)
        other.mode, other._played = "auto" if self.mode == "record" else self.mode, {}
        return other

    @property
    def recordings(self) -> list[dict[str, Any]]:
        """The `key`, `request` and `reply` of each recording, in order."""
        return self.tape["recordings"]

    def __call__(self, request: Request) -> Any:
        asked = mask_json(json.loads(canonical(request.to_dict())))
        key = digest(canonical(asked))
        if self.mode != "record":
            with self._lock:
                known = [recording for recording in self.recordings if recording["key"] == key]
                if known:
                    turn = min(self._played.get(key, 0), len(known) - 1)
                    self._played[key] = turn + 1
                    return reply_from_json(known[turn]["reply"])
            if self.mode == "replay":
                from agentkit.models.closest_recording import describe_miss

                requests = [recording["request"] for recording in self.recordings]
                raise NotRecorded(describe_miss(asked, requests, str(self.path or "the cassette")))
        return self._record(key, asked, self.model(request))

    def _record(self, key: str, asked: Any, output: Any) -> Any:
        from agentkit.models.stream_collector import acollect, collect

        if hasattr(output, "__await__") or hasattr(output, "__aiter__"):

            async def later() -> Reply:
                return self._store(key, asked, await acollect(output))

            return later()
        return self._store(key, asked, collect(output))

    def _store(self, key: str, asked: Any, reply: Reply) -> Reply:
        with self._lock:
            self.recordings.append({"key": key, "request": asked, "reply": mask_json(reply_to_json(reply))})
            self._played[key] = self._played.get(key, 0) + 1
            if self.path:
                save(self.path, self.tape, sort_keys=True)
        return reply

    @inert
    def __repr__(self) -> str:
        return f"<Cassette of {self.name!r}: {len(self.recordings)} recordings, {self.mode}>"


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """Return a model's reply as JSON data, without what is empty."""
    data: dict[str, Any] = {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "finish": reply.finish,
        "model": reply.model,
    }
    data["calls"] = [call_to_json(call) for call in reply.calls]
    data["usage"] = asdict(reply.usage) if reply.usage else None
    data["opaque"] = reply.opaque
    return {name: value for name, value in data.items() if value or name == "text"}


def reply_from_json(data: dict[str, Any]) -> Reply:
    """Return the reply that `reply_to_json` turned into JSON data."""
    try:
        calls = tuple(call_from_json(call) for call in data.get("calls", ()))
        usage = Usage(**data["usage"]) if data.get("usage") else None
        reply = Reply(**{**data, "calls": calls, "usage": usage})
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise ModelError(f"a recorded reply cannot be read: {error}") from error
    if problem := type_problem(reply, Reply):
        raise ModelError(f"a recorded reply contains {problem}")
    return reply


def _load(tape: Any, *, must_exist: bool) -> dict[str, Any]:
    name = "the cassette"
    if not isinstance(tape, dict):
        name = str(tape)
        try:
            if not must_exist and not tape.exists():
                return {"agentkit_cassette": VERSION, "recordings": []}
            tape = outside.parse_json(outside.read_file(tape))
        except FileNotFoundError:
            advice = f"record it first: Cassette({name!r}, model, 'record')"
            raise NotRecorded(f"there is no cassette {name}; {advice}") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"{name} is not a cassette: {error}") from None
    if not isinstance(tape, dict) or not isinstance(tape.setdefault("recordings", []), list):
        raise UsageError("a cassette must be a JSON object with a list of recordings")
    if tape.setdefault("agentkit_cassette", VERSION) != VERSION:
        raise JournalTooNew(
            f"the cassette has version {tape['agentkit_cassette']!r:.40}; this agentkit reads {VERSION}"
        )
    if not isinstance(tape.get("abilities", {}), dict):
        raise UsageError(f"{name} is not a cassette: its abilities must be an object")
    for number, recording in enumerate(tape["recordings"], 1):
        if problem := _recording_problem(recording):
            raise UsageError(f"{name} is not a cassette: its recording {number} {problem}")
    return tape


def _recording_problem(recording: Any) -> str:
    """Return what is wrong with a recording of a cassette, or ""."""
    if not isinstance(recording, dict):
        return "must be an object"
    for field, hint in (("key", str), ("request", dict[str, Any]), ("reply", dict[str, Any])):
        if field not in recording or type_problem(recording[field], hint):
            return f"has no valid {field!r}"
    try:
        reply_from_json(recording["reply"])
    except ModelError as error:
        return f"cannot be played: {error}"
    return ""
