"""Arithmetic: one tool that evaluates an expression, and can do nothing else.

Rule 1: an expression may contain only what is in one of the tables below.
Rule 2: no number gets larger than `MAX_BITS`; this is checked before the work is done, not after.
Rule 3: integers stay integers: `2**64` is exact, `6/2` is 3 and `sqrt(16)` is 4; `7/2` is 3.5.
"""

from __future__ import annotations

import ast
import math
import threading
from collections.abc import Callable
from typing import Any

from agentkit.errors import ToolError
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox

MAX_CHARACTERS = 1000
MAX_DEPTH = 50
MAX_BITS = 14_000  # about 4,200 digits: Python prints no more than 4,300
MAX_FACTORIAL = 1000

Number = int | float


def check_size(*bits: int) -> None:
    """Raise `ToolError` if an integer would have too many bits: the sum of the bits that it is made from."""
    if sum(bits) > MAX_BITS:
        raise ToolError(f"the result is too large: it would have more than {MAX_BITS * 3 // 10} digits")


def multiply(left: Number, right: Number) -> Number:
    """Return the product of two numbers."""
    if isinstance(left, int) and isinstance(right, int):
        check_size(left.bit_length(), right.bit_length())
    return left * right


def divide(left: Number, right: Number) -> Number:
    """Return the quotient; of two integers an integer, if there is no remainder."""
    if isinstance(left, int) and isinstance(right, int) and right and left % right == 0:
        return left // right
    return left / right


def power(base: Number, exponent: Number) -> Number:
    """Return the power of a number."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if abs(base) > 1:
            check_size(base.bit_length() * exponent)
        else:
            exponent = exponent % 2 or 2  # 0, 1 and -1 stay small, whatever the exponent
    result = base**exponent
    if isinstance(result, complex):
        raise ToolError("a fractional power of a negative number is not a real number")
    return result


def root(value: Number) -> Number:
    """Return the square root; of a perfect square an integer."""
    if isinstance(value, int) and value >= 0 and math.isqrt(value) ** 2 == value:
        return math.isqrt(value)
    return math.sqrt(value)


def factorial(value: Number) -> int:
    """Return the product of all integers from 1 to this one."""
    if not isinstance(value, int) or not 0 <= value <= MAX_FACTORIAL:
        raise ToolError(f"factorial takes an integer from 0 to {MAX_FACTORIAL}")
    return math.factorial(value)


def least_common_multiple(*values: Number) -> int:
    """Return the least common multiple."""
    integers = [value for value in values if isinstance(value, int)]
    if len(integers) < len(values):
        raise ToolError("lcm takes integers")
    check_size(*(value.bit_length() for value in integers))
    return math.lcm(*integers)


OPERATORS: dict[type, Callable[[Any, Any], Number]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: multiply,
    ast.Div: divide,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.Pow: power,
}
SIGNS: dict[type, Callable[[Any], Number]] = {ast.UAdd: lambda value: value, ast.USub: lambda value: -value}
CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "round": round, "min": min, "max": max, "floor": math.floor, "ceil": math.ceil,
    "sqrt": root, "exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10,
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "degrees": math.degrees, "radians": math.radians, "hypot": math.hypot,
    "gcd": math.gcd, "lcm": least_common_multiple, "factorial": factorial,
}  # fmt: skip


def evaluate(node: ast.AST, depth: int = 0) -> Number:
    """Return the value of one node of an expression. Raises `ToolError` for anything but arithmetic."""
    if depth > MAX_DEPTH:
        raise ToolError(f"the expression is nested more than {MAX_DEPTH} deep")
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in SIGNS:
            return SIGNS[type(sign)](evaluate(operand, depth + 1))
        case ast.BinOp(op=operator) if type(operator) in OPERATORS:
            return _evaluate_chain(node, depth)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            if not arguments:
                raise ToolError(f"{name}() needs a number")
            return _call(name, [evaluate(argument, depth + 1) for argument in arguments])
        case ast.BinOp(op=ast.BitXor()):
            raise ToolError("'^' is not an operator here; write ** for a power")
        case ast.Name(id=name):
            raise ToolError(f"{name!r} is not a number; known names: {', '.join([*CONSTANTS, *FUNCTIONS])}")
    raise ToolError(
        "only numbers, + - * / // % **, parentheses, the constants "
        f"{' and '.join(CONSTANTS)}, and these functions can be used: {', '.join(FUNCTIONS)}"
    )


def _evaluate_chain(node: ast.BinOp, depth: int) -> Number:
    """Return the value of a chain such as `1 + 2 - 3`, from left to right; however long it is, it is not nested."""
    chain: list[ast.BinOp] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp) and type(first.op) in OPERATORS:
        chain.append(first)
        first = first.left
    value = evaluate(first, depth + 1)
    for link in reversed(chain):
        value = OPERATORS[type(link.op)](value, evaluate(link.right, depth + 1))
    return value


def _call(name: str, arguments: list[Number]) -> Number:
    function = FUNCTIONS[name]
    if name in ("min", "max"):
        return function(arguments)
    if name == "round" and len(arguments) == 2 and abs(arguments[1]) > 1000:
        raise ToolError("round takes at most 1000 digits")
    return function(*arguments)


_PARSING = threading.Lock()  # CPython 3.11 cannot build syntax trees in two threads at once


@tool(effect="pure")
def calculate(expression: str) -> int | float:
    """Evaluate an arithmetic expression and return the number.

    Args:
        expression: The arithmetic to do, such as "17 * 23", "(2 + 3) ** 4" or "sqrt(2) / 2". It may contain
            numbers, + - * / // % **, parentheses, pi, e, and functions: abs round min max floor ceil sqrt exp log
            log2 log10 sin cos tan asin acos atan degrees radians hypot gcd lcm factorial. Angles are in radians.
    """
    if len(expression) > MAX_CHARACTERS:
        raise ToolError(f"the expression is longer than {MAX_CHARACTERS} characters")
    try:
        with _PARSING:
            tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolError(f"{expression[:80]!r} is not an arithmetic expression") from None
    try:
        value = evaluate(tree.body)
    except ZeroDivisionError:
        raise ToolError("division by zero") from None
    except OverflowError:
        raise ToolError("the result is too large") from None
    except (ValueError, TypeError) as error:
        raise ToolError(f"this cannot be calculated: {error}") from None
    if isinstance(value, int):
        check_size(value.bit_length())
    elif not math.isfinite(value):
        raise ToolError("the result is not a finite number")
    return value


box = ToolBox([calculate], name="math")
