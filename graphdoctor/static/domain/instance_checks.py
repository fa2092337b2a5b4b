"""The results of ``isinstance`` and ``issubclass`` for an abstract value, as far as they are known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from graphdoctor.static.domain.program import ClassInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import (
    Class,
    Const,
    External,
    ExternalObject,
    Function,
    Instance,
    Mapping,
    NameOf,
    OneOf,
    PythonValue,
    Seq,
    SkippedDefault,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)


def fits(value: Value, wanted: Value) -> bool | None:
    """``isinstance(value, wanted)``; None where that is not known."""
    check = _CHECKS.get(type(wanted))
    return None if check is None else check(value, wanted)


def rarely_fits(value: Value, wanted: Value) -> bool:
    """Whether ``isinstance(value, wanted)`` may be true, and rarely is in compiled code: what is rather a number is no
    tensor, as for ``flag: Union[bool, Tensor]``, and what may be anything no array.
    """
    if wanted == External("numpy.ndarray"):
        return isinstance(value, Unknown)
    first = options(value)[0]
    is_number = isinstance(first, PythonValue) and first.kind in ("bool", "int", "float")
    return is_number and wanted == External("torch.Tensor")


def union(a: Value, b: Value) -> Seq | None:
    """``a | b`` of classes, which ``isinstance`` takes as it does a tuple; None for other values."""
    left, right = _in_union(a), _in_union(b)
    if left is None or right is None or a == b == Const(None):
        return None
    return Seq("union", left + right)


def _in_union(value: Value) -> tuple[Value, ...] | None:
    if isinstance(value, Seq):
        return value.items if value.kind == "union" else None
    if value == Const(None):
        return (External("builtins.NoneType"),)
    # Flags such as ``re.MULTILINE`` are put together in the same way.
    is_class = isinstance(value, External) and not value.qualname.rpartition(".")[2].isupper()
    return (value,) if isinstance(value, Class) or is_class else None


#: The classes of values that surely are, or surely are not, a function or a class.
_OF_KNOWN_KIND = (Class, Const, Function, Instance, Mapping, Seq, TorchModule)


def is_function(value: Value) -> bool | None:
    """``inspect.isfunction(value)``; None where that is not known."""
    if isinstance(value, Function):
        return value.bound is None
    return False if isinstance(value, _OF_KNOWN_KIND) else None


def is_class(value: Value) -> bool | None:
    """``inspect.isclass(value)``; None where that is not known."""
    return isinstance(value, Class) if isinstance(value, _OF_KNOWN_KIND) else None


def derives(value: Value, wanted: Value) -> bool | None:
    """``issubclass(value, wanted)``; None where that is not known."""
    if isinstance(wanted, Seq):
        return None if wanted.items is None else _any(derives(value, item) for item in wanted.items)
    if isinstance(value, External):
        return _external_derives(value.qualname, wanted)
    return _class_derives(value, wanted) if isinstance(value, Class) else None


def _class_derives(value: Class, wanted: Value) -> bool | None:
    if isinstance(wanted, Class):
        found: bool | None = value.info.is_a(wanted.info)
    elif isinstance(wanted, External) and wanted.qualname in _MODULES:
        found = value.info.is_module or (None if value.info.externals else False)
    else:
        found = _any(_external_derives(base, wanted) for base in (*value.info.externals, _OBJECT))
    # An annotation names a class, and takes what derives from it.
    return found if found or value.exact else None


def _external_derives(qualname: str, wanted: Value) -> bool | None:
    """Whether the class ``qualname`` of a library is, or derives from, ``wanted``."""
    if isinstance(wanted, Class):
        return False if qualname in _APART else None
    if not isinstance(wanted, External):
        return None
    if wanted.qualname in (qualname, _OBJECT):
        return True
    if qualname in _APART and wanted.qualname in _APART:
        return (qualname, wanted.qualname) == ("builtins.bool", "builtins.int")
    return None


def _any(verdicts: Iterable[bool | None]) -> bool | None:
    known = set(verdicts)
    return True if True in known else None if None in known else False


def _fits_any(value: Value, wanted: Seq) -> bool | None:
    return None if wanted.items is None else _any(fits(value, item) for item in wanted.items)


def _fits_whichever(value: Value, wanted: OneOf) -> bool | None:
    verdicts = {fits(value, option) for option in wanted.options}
    return verdicts.pop() if len(verdicts) == 1 else None


def _fits_class(value: Value, wanted: Class) -> bool | None:
    if isinstance(value, Instance):
        return value.info.is_a(wanted.info)
    if isinstance(value, Tensor):
        return None if not value.is_known or wanted.info.derives("torch.Tensor") else False
    if isinstance(value, TorchModule):
        # A declared layer may be of a class derived from the declared one.
        return None if wanted.info.derives(value.qualname) else False
    return False if isinstance(value, (Const, Seq, Mapping)) else None


def _fits_external(value: Value, wanted: External) -> bool | None:
    check = _EXTERNAL_CHECKS.get(type(value))
    return None if check is None else check(value, wanted.qualname, wanted.qualname.rpartition(".")[2])


#: How ``isinstance`` is decided, by the class of its second argument.
_CHECKS: dict[type[Value], Callable[[Value, Any], bool | None]] = {
    Seq: _fits_any,
    OneOf: _fits_whichever,
    External: _fits_external,
    Class: _fits_class,
}

#: builtin types by the Python kinds they accept
_KINDS = {
    "int": {"int", "bool"}, "float": {"float"}, "bool": {"bool"}, "str": {"str"}, "bytes": {"bytes"},
    "complex": {"complex"}, "NoneType": {"NoneType"},
}  # fmt: skip
_CONTAINERS = {"list", "tuple", "set", "dict", "frozenset"}

#: Classes none of which derives from another one, but for bool and object, and which no class can be registered with.
_OBJECT = "builtins.object"
_APART = {
    "torch.Tensor", "numpy.ndarray", _OBJECT, *(f"builtins.{name}" for name in _CONTAINERS | _KINDS.keys()),
}  # fmt: skip

#: Abstract classes of containers, which every list, tuple and dict either fits or does not.
_ABSTRACT = {"Mapping", "MutableMapping", "Sequence", "Iterable", "Collection", "Sized", "Container"}
_ABSTRACT_FROM = ("collections.abc.", "typing.", "collections.")

#: Kinds of Python values that no tensor is.
_NO_TENSORS = {"int", "float", "bool", "str", "bytes", "complex", "dtype", "device"}
_TENSORS = {"Tensor", "Parameter"}
_MODULES = {"torch.nn.Module", "torch.nn.modules.module.Module"}
#: Bases that derive from no class but ``object``.
_PLAIN = {_OBJECT, *_MODULES}


def _tensor_fits(value: Tensor, qualname: str, name: str) -> bool | None:
    if name in ("ndarray", "generic"):
        # Compiled code gets tensors: a value that is only assumed to be one is no array.
        return value.numpy
    if name in ("Tensor", "FloatTensor", "LongTensor", "BoolTensor"):
        if value.numpy:
            return False if value.is_known else None
        return True if value.is_known and name == "Tensor" else None
    return False if qualname.startswith("builtins.") and value.is_known else None


def _constant_fits(value: Const, qualname: str, name: str) -> bool | None:
    if value.value is None:
        return name in ("NoneType", "object")
    if qualname.startswith("builtins."):
        # A member of ``class Mode(str, Enum)`` is a text.
        return _kind_fits("str" if isinstance(value.value, str) else type(value.value).__name__, name)
    if name in _TENSORS:
        return False
    return False if name in ("Iterable", "Sequence", "Mapping") and not isinstance(value.value, str) else None


def _python_value_fits(value: PythonValue, qualname: str, name: str) -> bool | None:
    if qualname.startswith("builtins."):
        return _kind_fits(value.kind, name)
    return False if name in _TENSORS and value.kind in _NO_TENSORS else None


def _kind_fits(kind: str, name: str) -> bool | None:
    """Whether a Python value of ``kind`` is an instance of the builtin type ``name``."""
    if kind == "object":
        return None
    return kind in _KINDS[name] if name in _KINDS else False if name in _CONTAINERS else None


def _sequence_fits(value: Seq, qualname: str, name: str) -> bool | None:
    if qualname.startswith("builtins."):
        is_tuple = name == "tuple" and value.kind == "size"
        return value.kind == name or is_tuple if name in _CONTAINERS else None
    if value.kind in ("list", "tuple") and name in _ABSTRACT and qualname.startswith(_ABSTRACT_FROM):
        return name not in ("Mapping", "MutableMapping")
    return False if name in _TENSORS else None


def _mapping_fits(_value: Mapping, qualname: str, name: str) -> bool | None:
    if qualname.startswith("builtins."):
        return name == "dict" if name in _CONTAINERS else None
    if name in _ABSTRACT and qualname.startswith(_ABSTRACT_FROM):
        return name != "Sequence"
    return False if name in _TENSORS else None


def _instance_fits(value: Instance, qualname: str, name: str) -> bool | None:
    if qualname in _MODULES:
        return value.info.is_module
    if qualname in value.info.externals:
        return True
    return (
        False if name == "NoneType" or _is_apart(value.info, qualname, name) else _function_fits(value, qualname, name)
    )


def _is_apart(info: ClassInfo, qualname: str, name: str) -> bool:
    """Whether a class of the scanned code surely does not derive from this one of a library.

    A class of the standard library may be an abstract one, which others fit. One with the name of a base may be that
    base, imported in a way that was not followed.
    """
    package = qualname.partition(".")[0]
    if package in sys.stdlib_module_names or (package == "torch" and not qualname.startswith("torch.nn.")):
        return False
    known = all(isinstance(base, (Class, External)) for each in info.mro for base in each.bases)
    return known and _PLAIN.issuperset(info.externals) and all(each.name != name for each in info.mro)


def _object_fits(value: ExternalObject, qualname: str, _name: str) -> bool | None:
    return True if value.qualname == qualname else None


def _function_fits(_value: Value, qualname: str, name: str) -> bool | None:
    return False if name in (_CONTAINERS if qualname.startswith("builtins.") else _TENSORS) else None


def _plain_function_fits(value: Function, qualname: str, name: str) -> bool | None:
    return False if qualname in _MODULES else _function_fits(value, qualname, name)


def _module_fits(value: TorchModule, qualname: str, name: str) -> bool | None:
    if qualname.startswith("builtins.") or name in _TENSORS:
        return _function_fits(value, qualname, name)
    return qualname in _MODULES or value.qualname == qualname or value.qualname.rpartition(".")[2] == name


#: Whether a value is an instance of a library's class ``qualname``, whose last part is ``name``, by the value's class.
_EXTERNAL_CHECKS: dict[type[Value], Callable[[Any, str, str], bool | None]] = {
    Tensor: _tensor_fits,
    Const: _constant_fits,
    SkippedDefault: _constant_fits,
    PythonValue: _python_value_fits,
    NameOf: _python_value_fits,
    Seq: _sequence_fits,
    Mapping: _mapping_fits,
    Instance: _instance_fits,
    ExternalObject: _object_fits,
    Function: _plain_function_fits,
    TorchModule: _module_fits,
}
