"""The names in spans and metrics, in one place: those of OpenTelemetry's conventions for generative AI, and our own.

The conventions (github.com/open-telemetry/semantic-conventions-genai, as of November 2026) are still in development,
and the constants in OpenTelemetry's Python packages are deprecated, so the names are written here.
"""

from __future__ import annotations

SCOPE = "agentkit"
"""The name of the tracer and of the meter."""

# -- operations and attributes of the conventions ----------------------------------------------------------------------

INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE = "gen_ai.token.type"
TOOL = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_DESCRIPTION = "gen_ai.tool.description"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
ERROR_TYPE = "error.type"

# Only with content:
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"

# -- our own -----------------------------------------------------------------------------------------------------------

PROVIDER_HERE = "agentkit"
"""The provider of models that run in this process."""

UNKNOWN = "unknown"
"""The name of a tool that does not exist."""

TURN = "agentkit.turn"
RUN = "agentkit.run.id"
STATUS = "agentkit.run.status"
ENGINE = "agentkit.engine"
ROLE = "agentkit.role"
PATH = "agentkit.path"
TAG = "agentkit.tag."
COST = "agentkit.cost"
LINK = "agentkit.link"
EVENT = "agentkit."
"""How the name of a span event begins, and those of its attributes."""

CANCELLED = "cancelled"
TIMEOUT = "timeout"
TOOL_ERROR = "tool_error"
MODEL_ERROR = "model_error"
"""Values of `error.type`, which is the class of the error if there is one."""

EVENTS = {
    "edited": ("entry", "of", "author"),
    "moved": ("keep", "why"),
    "injected": ("to", "by"),
    "recalled": (),
    "signalled": ("name",),
    "changed": ("model", "dialect", "temperature", "author"),
    "guarded": ("author",),
    "tripped": ("guardrail", "checks", "action"),
    "budget_warning": ("limit", "max", "spent"),
    "budget_exceeded": ("limit", "max", "spent"),
    "budget_extended": ("limit", "to"),
    "waiting": (),
}
"""The events of a run that are events of its span, and which of their data is in them: nothing that anybody wrote."""

# -- metrics -----------------------------------------------------------------------------------------------------------

TOKEN_USAGE = "gen_ai.client.token.usage"
MODEL_DURATION = "gen_ai.client.operation.duration"
AGENT_DURATION = "gen_ai.invoke_agent.duration"
TOOL_DURATION = "gen_ai.execute_tool.duration"

TOKEN_BUCKETS = [4.0**power for power in range(14)]
SECOND_BUCKETS = [0.01 * 2**power for power in range(14)]
