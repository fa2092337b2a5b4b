"""The parameters of a function as those of an operator: the types that it takes, and which calls and defaults fit."""

from __future__ import annotations

import re
from collections.abc import Mapping

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.proof.aliasing import is_written
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, PythonValue, Value

#: Numbers that an operator takes, and what stands for their defaults: it knows no other, and would evaluate it again.
_DEFAULTS = {"bool": r"True|False", "float": r"-?[\d.]+(e-?\d+)?", "int": r"-?\d+"}
#: The types of what may be given for them; empty stands for one that is not known.
_TAKEN = {"bool": ("", "bool"), "float": ("", "bool", "float", "int"), "int": ("", "bool", "int")}
_SEQUENCE = re.compile(r"(builtins\.|typing\.)?(tuple|Tuple|list|List)\[int(, *(int|\.\.\.))*\]")
_TENSOR = re.compile(r"(torch\.)?(\w*Tensor)")


def parameter_types(function: cst.FunctionDef, editor: Editor) -> Mapping[str, str]:
    """The types of the parameters, as an operator knows them. Refuses others, and tensors that are written to."""
    params = function.params
    if isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None or params.posonly_params:
        raise Refuse("an operator takes no `*args`")
    return {p.name.value: _type(p, function, editor) for p in (*params.params, *params.kwonly_params)}


def _type(param: cst.Param, function: cst.FunctionDef, editor: Editor) -> str:
    text = editor.code(param.annotation.annotation) if param.annotation is not None else ""
    inner = re.sub(r"^(typing\.)?Optional\[(.*)\]$", r"\2 | None", text.strip("\"'"))
    plain = inner.removesuffix(" | None")
    kind = plain if plain in _TAKEN else ""
    if _SEQUENCE.fullmatch(plain):
        kind = "list[int]"
    elif _TENSOR.fullmatch(plain) and not is_written(param.name.value, function.body.body[0], editor):
        kind = "torch.Tensor"
    if not kind:
        raise Refuse(f"the annotation of `{param.name.value}` names no type that an operator takes")
    default = editor.code(param.default) if param.default is not None else ""
    if default not in ("", "None") and not re.fullmatch(_DEFAULTS.get(kind, ""), default):
        raise Refuse(f"the default of `{param.name.value}` is none that an operator takes")
    return f"{kind} | None" if default == "None" or plain != inner else kind


def check_arguments(call: cst.Call, types: Mapping[str, str], editor: Editor) -> None:
    """Refuse numbers of other types than the annotations say: Python takes them, an operator raises."""
    for argument, positional in zip(call.args, [*types, *[""] * len(call.args)], strict=False):
        name = argument.keyword.value if argument.keyword is not None else positional
        taken = _TAKEN.get(types.get(name, ""))
        if taken is not None and any(_kind(o) not in taken for o in options(editor.value(argument.value))):
            raise Refuse(f"line {editor.location(call).line} gives `{name}` another type than its annotation says")


def _kind(value: Value) -> str:
    """The type of a number; empty where it is not known."""
    if isinstance(value, Const):
        return type(value.value).__name__
    return value.kind if isinstance(value, PythonValue) and value.kind in _TAKEN else ""
