"""Results and parameter sets with named fields, which print themselves and convert to dictionaries."""
from __future__ import annotations

import inspect
import math
from enum import IntEnum
from typing import Any, Callable, ClassVar, Iterable, Self, Sequence, dataclass_transform

from . import _core


KINDS: dict[str, type[Choice]] = {}  # every kind of choice by its name


class Choice(IntEnum):
    """One of a C++ enumeration's values. Wherever a function or a record takes one, its name as a text will do.

    >>> from incontext.regression import Offset
    >>> Offset("removed")
    Offset.removed
    """

    def __init_subclass__(cls) -> None:
        KINDS[cls.__name__] = cls

    @classmethod
    def _missing_(cls, value: object) -> Choice:
        if isinstance(value, str) and value in cls.__members__:
            return cls[value]
        room = cls.__module__.rsplit(".", 1)[-1]
        raise ValueError(cls.refusal(f"incontext::{room}::{cls.__name__}: there", value))

    @classmethod
    def refusal(cls, argument: str, value: object) -> str:
        """Why an argument, which has this value, is none of these choices."""
        return f"{argument} is no such choice (value = {value}; needs {', '.join(cls.__members__)})"

    @classmethod
    def of(cls, argument: str, value: Any) -> Self:
        """The choice that an argument names. Raises ValueError with the argument's name."""
        try:
            return cls(value)
        except ValueError:
            raise ValueError(cls.refusal(argument, value)) from None

    def __bool__(self) -> bool:
        return True  # the first one, too, whose number is 0: None alone is no choice

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


def brief(value: Any) -> str:
    """A value as text; of an array of more than a dozen numbers its shape."""
    shape = () if isinstance(value, type) else getattr(value, "shape", ())
    return f"array of shape {tuple(shape)}" if math.prod(shape) > 12 else repr(value)


def plain(value: Any) -> Any:
    """A value as dictionaries, lists, numbers and text, arrays left as they are."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Choice):
        return value.name
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return value


def cell(value: Any) -> str:
    """A value as a cell of an HTML table; an estimate as its mean and standard error."""
    import html  # here, because it would take a tenth of the time of importing this package

    if hasattr(value, "standard_error") and hasattr(value, "mean"):
        return f"{value.mean:.6g} ± {value.standard_error:.2g}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return "<pre>" + html.escape(text) + "</pre>" if "\n" in text else html.escape(text)


def table_text(headings: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 4) -> list[str]:
    """The lines of a table with aligned columns: text to the left, numbers with `digits` digits to the right.

    >>> print("\\n".join(table_text(["head", "x"], [["first", 1.23456], ["next", 12.0]])))
    head       x
    first  1.235
    next      12
    """
    def text(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.{digits}g}"
        return str(value).replace("_", " ") if isinstance(value, Choice) else str(value)

    rows = list(rows)
    lines = [list(headings), *([text(value) for value in row] for row in rows)]
    left = [all(isinstance(row[k], (str, Choice)) for row in rows) for k in range(len(headings))]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(one.ljust(width) if to_left else one.rjust(width)
                      for one, width, to_left in zip(line, widths, left)).rstrip() for line in lines]


def frame_of(columns: dict[str, Any], **named: Any) -> Any:
    """Columns by name as a frame of pandas, which is imported by the first."""
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas") from error
    return DataFrame(columns, **named)


def fields_html(caption: str, fields: dict[str, Any]) -> str:
    """Names and values as an HTML table."""
    rows = "".join(f"<tr><th>{name}</th><td>{cell(value)}</td></tr>" for name, value in fields.items())
    return f"<table><caption>{caption}</caption>{rows}</table>"


Need = tuple[str, Callable[[Any], bool]]  # what is needed, in words, and whether a value is that


def _is_count(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and not getattr(value, "shape", ())


def _is_number(value: Any) -> bool:
    is_one = hasattr(value, "__index__") or hasattr(value, "__float__")
    return is_one and not isinstance(value, bool) and not getattr(value, "shape", ())


def is_number_or_array(value: Any) -> bool:
    """Whether a value is a number, an array of any library, or a list of these."""
    if isinstance(value, (list, tuple)):
        return all(is_number_or_array(one) for one in value)
    return not isinstance(value, bool) and any(hasattr(value, name) for name in ("__float__", "__index__", "__array__"))


@dataclass_transform()
class Record:
    """A C++ struct with public members: its fields are given in order or by name, and read by name.

    Where a function takes numbers, it takes arrays as well; a record of such numbers then holds arrays.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _numbers: ClassVar[tuple[str, ...]] = ()  # the fields that C++ takes as numbers
    __signature__: ClassVar[inspect.Signature] = inspect.Signature()
    _choices: ClassVar[dict[str, Any]] = {}  # the fields that are choices; a name or a number is converted
    _needs: ClassVar[dict[str, Need]] = {}  # of the fields that hold numbers
    _of_any: ClassVar[Need] = ("numbers", lambda value: not isinstance(value, (str, bytes)))  # of fields without a type

    def __init_subclass__(cls, cpp: str | None = None) -> None:
        own = tuple(name for name in cls.__dict__.get("__annotations__", {}) if not name.startswith("_"))
        cls._fields = cls._numbers = cls._fields + own
        chosen = {name: KINDS.get(cls.__annotations__[name]) for name in own}
        cls._choices = cls._choices | {name: kind for name, kind in chosen.items() if kind}
        needs = {"int": ("a whole number", _is_count), "float": ("a number", _is_number), "Any": cls._of_any}
        types = {name: cls.__annotations__[name] for name in own}
        cls._needs = cls._needs | {name: needs[kind] for name, kind in types.items() if kind in needs}
        inherited = [parameter.replace(default=getattr(cls, parameter.name, inspect.Parameter.empty))
                     for parameter in cls.__signature__.parameters.values()]
        fields = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=cls.__annotations__[name],
                                    default=getattr(cls, name, inspect.Parameter.empty)) for name in own]
        cls.__signature__ = inspect.Signature(inherited + fields)
        room = cls.__module__.rsplit(".", 1)[-1]
        text, formulas = _core.docstring(cpp or f"{room}::{cls.__name__}"), "\n\nIn NumPy:\n"
        if cls.__doc__ is None:
            cls.__doc__ = text or f"A C++ struct of incontext::{room}."
        elif formulas in text:
            cls.__doc__ = inspect.cleandoc(cls.__doc__) + formulas + text.partition(formulas)[2]

    def __init__(self, *values: Any, **named: Any) -> None:
        cls = type(self)
        if len(values) > len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes {len(cls._fields)} fields, and {len(values)} were given")
        given = dict(zip(cls._fields, values))
        for name, value in named.items():
            if name not in cls._fields:
                raise TypeError(f"{cls.__name__}() has no field {name!r}: it has {', '.join(cls._fields)}")
            if name in given:
                raise TypeError(f"{cls.__name__}() got the field {name!r} twice")
            given[name] = value
        for name in cls._fields:
            if name not in given and not hasattr(cls, name):
                raise TypeError(f"{cls.__name__}() needs the field {name!r}")
            value = given[name] if name in given else getattr(cls, name)
            if isinstance(value, (str, int)) and name in cls._choices:
                if isinstance(value, Choice) and not isinstance(value, cls._choices[name]):
                    raise TypeError(f"{cls.__name__}: {name} is of another enumeration (value = {value!r}; needs "
                                    f"{cls._choices[name].__name__})")
                value = cls._choices[name].of(f"{cls.__name__}: {name}", value)
            needs, fits = cls._needs.get(name, ("", None))
            if fits and not fits(value):
                raise TypeError(f"{cls.__name__}: {name} is of the wrong type (value = {brief(value)}; needs {needs})")
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: use replace({name}=...)")

    def replace(self, **fields: Any) -> Self:
        """The same record with other values of some fields."""
        return type(self)(**{name: getattr(self, name) for name in self._fields} | fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={brief(getattr(self, name))}' for name in self._fields)})"

    def _repr_html_(self) -> str:
        return fields_html(type(self).__name__, {name: getattr(self, name) for name in self._fields})

    def __eq__(self, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        try:
            return all(bool(getattr(self, name) == getattr(other, name)) for name in self._fields)
        except ValueError:  # arrays
            import numpy

            return all(numpy.array_equal(getattr(self, name), getattr(other, name)) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, records within included."""
        return {name: plain(getattr(self, name)) for name in self._fields}
