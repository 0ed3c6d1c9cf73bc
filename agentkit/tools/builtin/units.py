"""Units: one tool that converts a number from one unit to another.

Factors are exact (international foot, pound and so on), and the arithmetic is done in fractions, so that 1 km is 1000 m
and not 999.9999. Names that mean different sizes in different places are refused, with the choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from agentkit.errors import ToolError
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox


@dataclass(slots=True, frozen=True)
class Unit:
    """A unit: `value * factor + offset` is the same amount in the first unit of its dimension.

    `names` start with the symbol.
    """

    dimension: str
    names: tuple[str, ...]
    factor: Fraction
    offset: Fraction = Fraction(0)


# One unit per line: symbol, factor, full names. The first unit of a dimension is the one the others are measured in.
TABLE = {
    "length": """
        m     1            meter metre
        km    1000         kilometer kilometre
        dm    1/10         decimeter decimetre
        cm    1/100        centimeter centimetre
        mm    1/1000       millimeter millimetre
        µm    1/1000000    micrometer micrometre micron um
        nm    1/1000000000 nanometer nanometre
        mi    1609.344     mile
        yd    0.9144       yard
        ft    0.3048       foot feet
        in    0.0254       inch inches
        nmi   1852         nautical_mile
        ly    9460730472580800 light_year
        au    149597870700 astronomical_unit""",
    "mass": """
        kg    1            kilogram kilogramme kilo
        g     1/1000       gram gramme
        mg    1/1000000    milligram
        µg    1/1000000000 microgram ug
        t     1000         tonne metric_ton
        lb    0.45359237   pound lbs
        oz    0.028349523125 ounce
        st    6.35029318   stone""",
    "time": """
        s     1            second sec
        ms    1/1000       millisecond
        min   60           minute
        h     3600         hour hr
        d     86400        day
        wk    604800       week""",
    "volume": """
        l     1            liter litre L
        ml    1/1000       milliliter millilitre mL
        cl    1/100        centiliter centilitre cL
        dl    1/10         deciliter decilitre dL
        m3    1000         cubic_meter cubic_metre m³
        cm3   1/1000       cubic_centimeter cubic_centimetre cm³ cc
        ft3   28.316846592 cubic_foot cubic_feet ft³
        in3   0.016387064  cubic_inch cubic_inches in³
        usgal 3.785411784  us_gallon
        uspt  0.473176473  us_pint
        uscup 0.2365882365 us_cup
        usfloz 0.0295735295625 us_fluid_ounce
        impgal 4.54609     imperial_gallon uk_gallon
        imppt 0.56826125   imperial_pint uk_pint
        impfloz 0.0284130625 imperial_fluid_ounce uk_fluid_ounce""",
    "speed": """
        m/s   1            meter_per_second metre_per_second meters_per_second metres_per_second mps
        km/h  5/18         kilometer_per_hour kilometre_per_hour kilometers_per_hour kilometres_per_hour kph kmh
        mph   0.44704      mile_per_hour miles_per_hour mi/h
        kn    463/900      knot
        ft/s  0.3048       foot_per_second feet_per_second""",
    "area": """
        m2    1            square_meter square_metre m² sqm
        km2   1000000      square_kilometer square_kilometre km² sqkm
        cm2   1/10000      square_centimeter square_centimetre cm²
        mm2   1/1000000    square_millimeter square_millimetre mm²
        ha    10000        hectare
        acre  4046.8564224 ac
        mi2   2589988.110336 square_mile mi² sqmi
        yd2   0.83612736   square_yard yd²
        ft2   0.09290304   square_foot square_feet ft² sqft
        in2   0.00064516   square_inch square_inches in²""",
    "data": """
        B     1            byte
        bit   1/8
        kB    1000         kilobyte KB
        MB    1000000      megabyte
        GB    1000000000   gigabyte
        TB    1000000000000 terabyte
        PB    1000000000000000 petabyte
        KiB   1024         kibibyte
        MiB   1048576      mebibyte
        GiB   1073741824   gibibyte
        TiB   1099511627776 tebibyte
        kbit  125          kilobit
        Mbit  125000       megabit
        Gbit  125000000    gigabit""",
}
TEMPERATURES = (
    Unit("temperature", ("K", "kelvin", "k"), Fraction(1)),
    Unit("temperature", ("°C", "celsius", "C", "degc", "centigrade", "c"), Fraction(1), Fraction("273.15")),
    Unit("temperature", ("°F", "fahrenheit", "F", "degf", "f"), Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
)
AMBIGUOUS = {
    "gallon": "US gallon or imperial gallon",
    "pint": "US pint or imperial pint",
    "cup": "US cup",
    "fluid ounce": "US fluid ounce or imperial fluid ounce",
    "ton": "tonne (1000 kg)",
    "month": "days, since a month has no fixed length",
    "year": "days, since a year has no fixed length",
    "mb": "MB (megabyte) or Mbit (megabit)",
    "gb": "GB (gigabyte) or Gbit (gigabit)",
}


def _units() -> dict[str, Unit]:
    known: dict[str, Unit] = {}
    for dimension, table in TABLE.items():
        for line in table.strip().splitlines():
            symbol, factor, *names = line.split()
            unit = Unit(dimension, (symbol, *(name.replace("_", " ") for name in names)), Fraction(factor))
            known |= dict.fromkeys(unit.names, unit)
    for unit in TEMPERATURES:
        known |= dict.fromkeys(unit.names, unit)
    return known


UNITS = _units()


def _singular(name: str) -> str:
    return " ".join(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("us") else word for word in name.split()
    )


def find_unit(name: str) -> Unit | None:
    """Return the unit of a symbol (case matters) or of a name (singular or plural); None if it is unknown."""
    name = " ".join(name.replace("_", " ").split())[:60]
    if name.lower() in AMBIGUOUS and name not in UNITS:
        return None
    low = name.lower().removeprefix("degrees ").removeprefix("degree ").removeprefix("deg ")
    bare = name[len(name) - len(low) :]
    for spelling in (name, bare, low, _singular(low), low.replace("°", ""), low.replace("-", " ")):
        if spelling in UNITS:
            return UNITS[spelling]
    return None


def _unit(name: str) -> Unit:
    if unit := find_unit(name):
        return unit
    choice = AMBIGUOUS.get(_singular(name.strip().lower()), AMBIGUOUS.get(name.strip().lower()))
    if choice:
        raise ToolError(f"the unit {name[:60]!r} is ambiguous; use {choice}")
    raise ToolError(f"unknown unit {name[:60]!r}; use a unit of {', '.join((*TABLE, 'temperature'))}, such as km or °C")


@tool(effect="pure")
def convert(value: int | float, from_unit: str, to_unit: str) -> int | float:
    """Convert a measured value from one unit to another and return the number in the new unit.

    Units of length, mass, temperature, time, volume, speed, area and data size are known.

    Args:
        value: How much there is of the first unit.
        from_unit: The unit that the value is given in, such as "km", "pound" or "fahrenheit".
        to_unit: The unit that is wanted, such as "mile", "kg" or "celsius".
    """
    source, target = _unit(from_unit), _unit(to_unit)
    if source.dimension != target.dimension:
        raise ToolError(
            f"{source.names[0]} measures {source.dimension} and {target.names[0]} measures {target.dimension}"
        )
    try:
        amount = Fraction(str(value)) * source.factor + source.offset
        if source.dimension == "temperature" and amount < 0:
            raise ToolError(f"{value} {source.names[0]} is colder than absolute zero")
        result = (amount - target.offset) / target.factor
        return int(result) if result.denominator == 1 else float(result)
    except (ValueError, OverflowError):
        raise ToolError("this number cannot be converted: it is too large, or not a number") from None


box = ToolBox([convert], name="units")
