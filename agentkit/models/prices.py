"""What tokens cost: US dollars per million, as the providers' price pages said in 2025.

You may change the table: `PRICES["my-model"] = Price(0.1, 0.4)`, or `[prices]` in `config.toml` with lines like
`"my-model" = [0.1, 0.4]` (input, output, and optionally cached input, and input that is stored in a cache), or `price=`
of one model. As far as agentkit knows, a model without a price costs nothing. A price that the host reports takes
precedence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentkit.config import read_config
from agentkit.core.usage import Usage
from agentkit.errors import UsageError


@dataclass(slots=True, frozen=True)
class Price:
    """Dollars per million tokens; `cached` is the price of input that the provider had stored, `stored` that of storing
    it.

    If one of these is None, the price is that of other input.
    """

    input: float
    output: float
    cached: float | None = None
    stored: float | None = None

    def of(self, usage: Usage, stored: int = 0) -> float:
        """Return the dollars for some tokens; `stored` of the input tokens were stored in the provider's cache."""
        cached_price = self.input if self.cached is None else self.cached
        stored_price = self.input if self.stored is None else self.stored
        fresh = max(0, usage.input - usage.cached - stored)
        dollars = fresh * self.input + usage.cached * cached_price + stored * stored_price + usage.output * self.output
        return dollars / 1_000_000


def _claude(input: float, output: float) -> Price:
    """Return a price of Anthropic: reading a cache costs a tenth of the input's price, filling it five quarters."""
    return Price(input, output, input / 10, input * 1.25)


PRICES: dict[str, Price] = {
    "gpt-5": Price(1.25, 10, 0.125),
    "gpt-5-mini": Price(0.25, 2, 0.025),
    "gpt-5-nano": Price(0.05, 0.4, 0.005),
    "gpt-4.1": Price(2, 8, 0.5),
    "gpt-4.1-mini": Price(0.4, 1.6, 0.1),
    "gpt-4.1-nano": Price(0.1, 0.4, 0.025),
    "gpt-4o": Price(2.5, 10, 1.25),
    "gpt-4o-mini": Price(0.15, 0.6, 0.075),
    "o3": Price(2, 8, 0.5),
    "o4-mini": Price(1.1, 4.4, 0.275),
    "claude-opus-4-5": _claude(5, 25),
    "claude-opus-4-1": _claude(15, 75),
    "claude-opus-4": _claude(15, 75),
    "claude-sonnet-4-5": _claude(3, 15),
    "claude-sonnet-4": _claude(3, 15),
    "claude-3-7-sonnet": _claude(3, 15),
    "claude-haiku-4-5": _claude(1, 5),
    "claude-3-5-haiku": _claude(0.8, 4),
}

_DATE = re.compile(r"[-@](?:20\d\d-?\d\d-?\d\d|latest)$")


def price_of(name: str) -> Price | None:
    """Return the price of a model, or None; a date at the end of its name is ignored."""
    table = PRICES | _configured()
    undated = _DATE.sub("", name)
    return table.get(name) or table.get(undated) or table.get(undated.rpartition("/")[2])


def _configured() -> dict[str, Price]:
    """Return the prices in config.toml."""
    prices = read_config().get("prices", {})
    try:
        return {str(name): Price(*map(float, price)) for name, price in prices.items()}
    except (ValueError, TypeError, AttributeError):
        raise UsageError(
            '[prices] in config.toml must have lines like "my-model" = [0.1, 0.4]: dollars per million tokens'
        ) from None
