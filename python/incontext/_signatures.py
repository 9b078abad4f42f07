"""What `inspect.signature`, `help` and editors ask of a function: nanobind's functions cannot answer, Python's can."""
from __future__ import annotations

import ast
import functools
import inspect
import math
import re
import sys
from types import ModuleType
from typing import Any, Callable

import numpy

from ._record import KINDS, Choice, brief

_OPENING, _CLOSING = "([{", ")]}"


def _split(text: str, separator: str) -> list[str]:
    """The parts of `text` between separators that are in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _parameters(text: str, defaults: tuple[Any, ...]) -> list[inspect.Parameter]:
    """The parameters of "a: int, b: float = \\0, **options" with the default values that the numbers stand for."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found = []
    for part in _split(text, ","):
        declared, _, text = part.partition(" = ")
        name, _, annotation = declared.partition(": ")
        if name == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif name.startswith("**"):
            found.append(inspect.Parameter(name[2:], inspect.Parameter.VAR_KEYWORD,
                                           annotation="typing.Unpack[incontext.simulate.RunOptions]"))
        elif name:
            number = re.fullmatch(r"\\=?(\d+)", text)
            default = _value(defaults[int(number[1])] if number else text) if text else inspect.Parameter.empty
            annotated = annotation or inspect.Parameter.empty
            found.append(inspect.Parameter(name, kind, default=default, annotation=annotated))
    return found


def _value(default: Any) -> Any:
    """The choice or the number that a default names, and every other default as it is."""
    package, *names = str(default).split(".")
    if package == "incontext" and len(names) == 3:  # incontext.regression.Offset.kept
        return functools.reduce(getattr, names, sys.modules[package])
    try:
        return math.inf if default == "math.inf" else ast.literal_eval(default)
    except (SyntaxError, TypeError, ValueError):  # no text of a number
        return default


def signature(function: Any) -> inspect.Signature:
    """The signature of a function of nanobind; that of all its overloads where they differ in types alone.

    >>> from incontext import _core
    >>> print(signature(_core.regression.LinearTask.isotropic).replace(return_annotation=inspect.Signature.empty))
    (dimension: 'int', *, input_variance: 'float' = 1.0, task_variance: 'float' = 1.0, noise_variance: 'float' = 0.0)
    """
    overloads = []
    for declared, _, defaults in function.__nb_signature__:
        if "typing.Never" in declared:  # of what the others do not take
            continue
        public = re.sub(r"incontext\._(core|arrays|simulate)\.", "incontext.", declared)
        returned = public.rpartition(") -> ")[2]
        overloads.append(inspect.Signature(_parameters(_inside(public), defaults or ()), return_annotation=returned))
    first, *others = overloads
    for other in others:
        if list(first.parameters) != list(other.parameters):
            return inspect.Signature([inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL),
                                      inspect.Parameter("named", inspect.Parameter.VAR_KEYWORD)])
        joined = [mine.replace(annotation=_wider(mine.annotation, its.annotation))
                  for mine, its in zip(first.parameters.values(), other.parameters.values())]
        first = inspect.Signature(joined, return_annotation=_union(first.return_annotation, other.return_annotation))
    return first


class LazySignature(inspect.Signature):
    """The signature of a function of nanobind, read when it is asked for: hundreds are made at import."""

    __slots__ = ("_function", "_of_class", "_found")

    def __init__(self, function: Any, of_class: bool = False) -> None:
        self._function, self._of_class = function, of_class
        self._found: inspect.Signature | None = None

    @property
    def _own(self) -> inspect.Signature:
        if self._found is None:
            own = signature(self._function)
            self._found = inspect.Signature([*own.parameters.values()][1:]) if self._of_class else own
        return self._found

    @property
    def _parameters(self) -> Any:
        return self._own.parameters

    @property
    def _return_annotation(self) -> Any:
        return self._own.return_annotation

    def replace(self, **changes: Any) -> Any:
        return self._own.replace(**changes)

    __replace__ = replace  # copy.replace, from Python 3.13 on

    def __reduce__(self) -> Any:
        return self._own.__reduce__()


def _wider(first: str, second: str) -> str:
    """The type of an argument that has one of two; what is an array may be a number or a choice, too."""
    return second if second == "numpy.typing.ArrayLike" else _union(first, second)


def _union(first: str, second: str) -> str:
    return " | ".join(dict.fromkeys([*_split(first, "|"), *_split(second, "|")]))


def _described(function: Any, module: str) -> Callable[..., Any]:
    """A function of Python that calls `function`, and has its name, documentation and signature."""
    name = re.sub(r"\._(core|arrays|simulate)\b", "", f"{module}.{function.__qualname__.lstrip('_')}")

    def call(*arguments: Any, **named: Any) -> Any:
        for value in (*arguments, *named.values()) if named else arguments:
            if value is True or value is False:  # nanobind would take it for a number
                refuse_truth(arguments, named)
        try:
            return function(*arguments, **named)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
        raise _refusal(name, function, own, arguments, named)

    def refuse_truth(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        for key, value in (*zip(own.parameters, arguments), *named.items()):
            one = own.parameters.get(key)
            # of an argument that may be an array, the bindings refuse it
            if ((value is True or value is False) and one is not None and one.annotation != "numpy.typing.ArrayLike"
                    and not _is_of(True, str(one.annotation))):
                raise _of_wrong_type(name, own, [(key, value)])

    call.__name__, call.__qualname__, call.__module__ = function.__name__, function.__qualname__, module
    documented = [overload[1] for overload in function.__nb_signature__ if overload[1]]
    call.__doc__ = documented[0] if len(documented) == 1 else function.__doc__
    own = call.__signature__ = LazySignature(function)  # type: ignore[attr-defined]
    return call


_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _refusal(name: str, function: Any, own: inspect.Signature, arguments: tuple[Any, ...],
             named: dict[str, Any]) -> TypeError | ValueError:
    """Why these arguments are not those of a function, in one line."""
    known = [key for place, (key, one) in enumerate(own.parameters.items())
             if (key != "self" or place > 0) and one.kind not in _SEVERAL]
    if not known and own.parameters:  # overloads whose parameters differ
        given = ", ".join([*map(_kind, arguments), *(f"{key}: {_kind(value)}" for key, value in named.items())])
        needs = " or ".join(", ".join(one.name for one in _parameters(_inside(declared), defaults or ()))
                            for declared, _, defaults in function.__nb_signature__)
        return TypeError(f"{name}: the arguments do not fit (value = {given}; needs {needs})")
    if not any(one.kind is one.VAR_KEYWORD for one in own.parameters.values()):
        for key in named:
            if key not in own.parameters:
                return TypeError(f"{name}: no argument '{key}' (needs {', '.join(known)})")
    try:
        found = own.bind(*arguments, **named).arguments
    except TypeError as error:
        return TypeError(f"{name}: {error} (needs {', '.join(known)})")
    found = {key: value for key, value in found.items() if key in known}
    wrong = [(key, value) for key, value in found.items() if not _is_of(value, str(own.parameters[key].annotation))]
    if wrong:
        return _of_wrong_type(name, own, wrong)
    for key, value in found.items():
        choices = _choices_of(str(own.parameters[key].annotation))
        if choices and isinstance(value, (str, int)) and not isinstance(value, Choice) and not _is_one_of(choices, value):
            return ValueError(choices.refusal(f"{name}: {key}", value))
    arrays = {key: _array_of_numbers(value) for key, value in found.items()
              if str(own.parameters[key].annotation) == "numpy.typing.ArrayLike"}
    for key, array in arrays.items():
        if array is None:
            return TypeError(f"{name}: {key} is of the wrong type (value = {_kind(found[key])}; needs an array of numbers)")
    if len(arrays) == 1 == len(found.keys() - {"self"}):  # it is a vector or a matrix, of whatever size
        [(key, one)] = arrays.items()
        needs = {1: "two", 2: "one"}.get(numpy.ndim(one), "one or two")
        return TypeError(f"{name}: {key} has the wrong number of axes (value = {numpy.shape(one)}; needs {needs})")
    kinds = ", ".join(f"{key}: {_kind(value)}" for key, value in found.items())
    return TypeError(f"{name}: the arguments do not fit together (value = {kinds}; needs {str(own).partition(' ->')[0]})")


def _array_of_numbers(value: Any) -> Any:
    """A value as an array of numbers, or None."""
    try:
        return numpy.asarray(value, "float64")
    except (TypeError, ValueError):
        return None


def _choices_of(annotation: str) -> type[Choice] | None:
    """The enumeration that an argument of this type is one of."""
    kinds = (KINDS.get(kind.rpartition(".")[2]) for kind in _split(annotation, "|") if kind.startswith("incontext."))
    return next((kind for kind in kinds if kind), None)


def _is_one_of(choices: type[Choice], value: str | int) -> bool:
    return value in choices.__members__ or value in [*choices]


def refuse_constructor(kind: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raises why a class is not made of these arguments."""
    name = re.sub(r"\._(core|arrays|simulate)\b", "", f"{kind.__module__}.{kind.__qualname__}")
    raise _refusal(name, kind.__init__, kind.__signature__, arguments, named)


def _inside(declared: str) -> str:
    """The parameters in a text such as "def f(a: int) -> float"."""
    return declared.partition("(")[2].rpartition(") -> ")[0]


def _of_wrong_type(name: str, own: inspect.Signature, wrong: list[tuple[str, Any]]) -> TypeError:
    return TypeError(f"{name}: " + "; ".join(f"{key} is of the wrong type (value = {brief(value):.80}; needs "
                                             f"{_words(own, key)})" for key, value in wrong))


def _kind(value: Any) -> str:
    """The type of a value; of an array, its lengths too."""
    shape = getattr(value, "shape", ())
    return type(value).__name__ + (f" of {' x '.join(map(str, shape))}" if shape else "")


def _words(own: inspect.Signature, key: str) -> str:
    """The type of a parameter, for people."""
    text = str(own.parameters[key].annotation)
    axes = re.search(r"shape=\(([^)]*)\)", text)
    if text.startswith("collections.abc.Callable"):
        return "a function"
    if axes:
        count = axes[1].count("*")
        return f"an array of {count} {'axis' if count == 1 else 'axes'}"
    plain = {"numpy.typing.ArrayLike": "a number or an array", "int": "a whole number", "float": "a number",
             "bool": "True or False", "str": "a string", "collections.abc.Sequence[int]": "a list of whole numbers",
             "collections.abc.Sequence[float]": "a list of numbers"}
    return " or ".join(plain.get(one, one.removeprefix("incontext.")) for one in _split(text, "|"))


def _is_of(value: Any, annotation: str) -> bool:
    """Whether a value may be of one of these types, as far as their names tell."""
    for kind in _split(annotation, "|"):
        number = not isinstance(value, bool) and not getattr(value, "shape", ())
        if kind.startswith("collections.abc.Callable"):
            if callable(value):
                return True
            continue
        axes = re.search(r"shape=\(([^)]*)\)", kind)
        if {"int": number and hasattr(value, "__index__"), "float": number and hasattr(value, "__float__"),
                "bool": isinstance(value, bool), "str": isinstance(value, str), "None": value is None}.get(kind):
            return True
        if axes and len(getattr(value, "shape", ())) == axes[1].count("*"):
            return True
        if kind.startswith("incontext.") and kind.rpartition(".")[2] in (one.__name__ for one in type(value).__mro__):
            return True
        items = re.fullmatch(r"collections\.abc\.Sequence\[(.*)\]", kind)
        is_list = isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1
        if items and not (is_list and all(_is_of(one, items[1]) for one in value)):
            continue
        if kind == "numpy.typing.ArrayLike" and (value is None or isinstance(value, (str, bytes, bool, complex))):
            continue
        if kind not in ("int", "float", "bool", "str", "None") and not axes and not kind.startswith("incontext."):
            return True  # whatever it is
    return False


def own_names(room: ModuleType) -> list[str]:
    """What dir() shows of a room: its own classes and functions, without what it imports."""
    name = room.__name__.rpartition(".")[2]
    homes = (room.__name__, *(f"{extension}.{name}" for extension in _EXTENSIONS))
    return sorted(key for key, value in vars(room).items()
                  if not key.startswith("_") and getattr(value, "__module__", None) in homes)


def describe_functions(room: ModuleType) -> None:
    """Puts a described function in the place of each function, method and constructor of nanobind in a room; of a
    private one, in its extension."""
    for extension in _EXTENSIONS:
        half = sys.modules.get(f"{extension}.{room.__name__.rpartition('.')[2]}")
        if half is None:
            continue
        for name, value in list(vars(half).items()):
            if name.startswith("_") and hasattr(value, "__nb_signature__"):
                setattr(half, name, _described(value, half.__name__))
    for name, value in list(vars(room).items()):
        if name.startswith("_"):
            continue
        if hasattr(value, "__nb_signature__"):
            setattr(room, name, _described(value, room.__name__))
        elif isinstance(value, type) and ".".join(value.__module__.split(".")[:2]) in _EXTENSIONS:
            for method, function in list(vars(value).items()):
                if method == "__init__" and hasattr(function, "__nb_signature__"):
                    setattr(value, "__signature__", LazySignature(function, of_class=True))
                elif not method.startswith("_") and hasattr(function, "__nb_signature__"):
                    described = _described(function, value.__module__)
                    setattr(value, method, described if hasattr(function, "__get__") else staticmethod(described))


_EXTENSIONS = ("incontext._arrays", "incontext._core", "incontext._simulate")
