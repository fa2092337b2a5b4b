"""What decorators of other modules do, whose bodies are not interpreted.

Most do not change the result of a call. Some mark its result as a constant, or keep the function out of compilation.
Some put a lookup before it, ``chosen = table.get(self.config.kind, original)`` and ``chosen(self, x)``: unless a file
says what the setting ``kind`` is, it is not known whether ``original`` ever runs. The wrapper that a decorator puts
around a call is traced with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.syntax.literals import value_of
from graphdoctor.syntax.walk import find, walk

#: Marks a function that is the default of a lookup that its decorator makes.
DEFAULT_OF_LOOKUP = "default-of-lookup"

#: Marks a function that another compiler compiles: Python does not run its body.
OTHER_COMPILER = "other-compiler"

#: Marks a function that numba compiles when it is called: Dynamo cannot trace the call.
NUMBA = "numba"

#: The name by which rules know a scripted method of an ``autograd.Function``: Dynamo does not call that one.
SCRIPTED_IN_AUTOGRAD_FUNCTION = "torch.autograd.Function.ScriptFunction"

#: Marks a function that runs in an NVTX range, which Dynamo does not enter.
NVTX_RANGE = "torch.cuda.nvtx.range"

#: Marks a function whose decorator keeps its ``inspect.signature`` in the wrapper.
KEEPS_SIGNATURE = "keeps-signature"

#: The functions of Python that keep the results of a function: what they make is not a Python function.
CACHES = frozenset(("functools.lru_cache", "functools.cache"))

#: The names by which rules know a call of what one of these made where Dynamo does not find the function behind it: a
#: method of an ``autograd.Function``, and a classmethod, at which it gives up the frame.
CACHED_METHOD, CACHED_CLASSMETHOD = "functools.lru_cache.method", "functools.lru_cache.classmethod"

#: The attribute by which ``torch.compiler.assume_constant_result`` marks a function.
_CONSTANT = "_dynamo_marked_constant"


@dataclass(frozen=True)
class Effect:
    """What the decorator ``name`` does.

    ``lookups`` names what it makes the default of a lookup: methods of a decorated class, or "" for a decorated
    function, each with the attribute that is looked up. ``wrapper`` is the function that it puts in the place of the
    decorated one, which it calls; ``delegates`` names the functions that make the wrapper for it.
    """

    name: str
    constant: bool
    lookups: Mapping[str, str]
    disables: bool = False
    wrapper: cst.FunctionDef | None = None
    delegates: tuple[str, ...] = ()
    #: Whether the wrapper uses what ``inspect.signature`` gave the decorator.
    keeps_signature: bool = False

    def defaults(self, text: str) -> list[str]:
        """The defaults of lookups, for a decorated file with this ``text``.

        A file that names the attribute of the lookup, ``_kind``, also in ``kind=`` or ``choose_kind``, makes its own
        choice.
        """
        elsewhere = text.replace(self.name, "") if self.lookups else ""
        return [name for name, attribute in self.lookups.items() if not _names(elsewhere, attribute.strip("_"))]


NOTHING = Effect("", False, {})


def is_of_other_compiler(function: cst.FunctionDef, decorators: Sequence[str]) -> bool:
    """Whether a function with ``decorators``, dotted names, is written for another compiler, such as a GPU kernel.

    The decorator says so, ``numba.njit``, or the parameters, whose types are computed: ``x: T.Tensor([n], T.int32)``.
    """
    foreign = [
        name for name in decorators if name.partition(".")[0] not in ("builtins", "functools", "torch", "typing")
    ]
    compiled = any(name.rpartition(".")[2] in ("jit", "njit") for name in foreign)
    parameters = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
    computed = any(p.annotation is not None and type(p.annotation.annotation) is cst.Call for p in parameters)
    return compiled or bool(foreign and computed)


def is_of_numba(decorators: Sequence[str]) -> bool:
    """Whether one of ``decorators``, dotted names, makes a function of machine code that Python calls."""
    return any(
        name.startswith("numba.") and name.rpartition(".")[2] in ("jit", "njit", "vectorize", "guvectorize")
        for name in decorators
    )


def effect(decorator: cst.FunctionDef, body: cst.CSTNode) -> Effect:
    """The effect of ``decorator``, as far as its ``body`` shows."""
    nodes = list(walk(body))
    decorated = _decorated(decorator, nodes)
    wrapper = next((node for node in nodes if type(node) is cst.FunctionDef and _calls_one(node, decorated)), None)
    return Effect(
        decorator.name.value,
        any(map(_marks_constant, nodes)),
        _lookups(decorated, nodes),
        any(_disables(node, decorated) for node in nodes),
        wrapper,
        tuple(dict.fromkeys(name for node in nodes if (name := _passed_on(node, decorated)))),
        wrapper is not None and _keeps_signature(wrapper, nodes),
    )


def _keeps_signature(wrapper: cst.FunctionDef, nodes: Sequence[cst.CSTNode]) -> bool:
    kept = {
        node.targets[0].target.value
        for node in nodes
        if type(node) is cst.Assign and type(node.targets[0].target) is cst.Name and _is_signature(node.value)
    }
    return bool(kept) and any(type(node) is cst.Name and node.value in kept for node in walk(wrapper))


def _is_signature(node: cst.BaseExpression) -> bool:
    if type(node) is not cst.Call:
        return False
    name = node.func.attr if type(node.func) is cst.Attribute else node.func
    return type(name) is cst.Name and name.value == "signature"


def gives_own_function(body: cst.BaseSuite | cst.BaseExpression) -> bool:
    """Whether the last statement of ``body`` returns a function that is defined in it."""
    statements = body.body if isinstance(body, cst.IndentedBlock) else ()
    last = statements[-1] if statements else None
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
    given = small.value if isinstance(small, cst.Return) else None
    own = {node.name.value for node in statements if isinstance(node, cst.FunctionDef)}
    return isinstance(given, cst.Name) and given.value in own


def keeps_in_table(function: cst.FunctionDef, body: cst.CSTNode) -> bool:
    """Whether ``function`` stores an argument under a key: ``BLOCKS[name] = cls``."""
    names = [param.name.value for param in find(function.params, cst.Param)]
    return any(
        isinstance(target.target, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value in names
        for node in find(body, cst.Assign)
        for target in node.targets
    )


def _marks_constant(node: cst.CSTNode) -> bool:
    if type(node) is cst.SimpleString:
        return value_of(node.value) == _CONSTANT
    return type(node) is cst.Attribute and node.attr.value == _CONSTANT


def _disables(node: cst.CSTNode, decorated: Sequence[str]) -> bool:
    """Whether ``node`` returns the decorated function, kept out of compilation."""
    made = node.value if type(node) is cst.Return else None
    if type(made) is not cst.Call or type(made.func) is not cst.Attribute or made.func.attr.value != "disable":
        return False
    owner = made.func.value
    compiler = type(owner) is cst.Attribute and owner.attr.value in ("compiler", "_dynamo")
    return compiler and any(type(arg.value) is cst.Name and arg.value.value in decorated for arg in made.args)


def _passed_on(node: cst.CSTNode, decorated: Sequence[str]) -> str:
    """The function that ``node`` calls with one of ``decorated`` and whose result it returns; "" where there is
    none."""
    made = node.value if type(node) is cst.Return else None
    if type(made) is not cst.Call or type(made.func) is not cst.Name:
        return ""
    passed = any(type(arg.value) is cst.Name and arg.value.value in decorated for arg in made.args)
    return made.func.value if passed else ""


def _calls_one(function: cst.FunctionDef, decorated: Sequence[str]) -> bool:
    """Whether ``function`` itself calls one of ``decorated``."""
    return any(
        type(node) is cst.Call and type(node.func) is cst.Name and node.func.value in decorated
        for node in walk(function.body, stop=(cst.FunctionDef, cst.Lambda, cst.ClassDef))
    )


def _lookups(decorated: Sequence[str], nodes: Sequence[cst.CSTNode]) -> dict[str, str]:
    originals = dict.fromkeys(decorated, "")
    made: dict[str, cst.BaseExpression] = {}
    for node in nodes:
        if type(node) is cst.Assign and type(node.targets[0].target) is cst.Name:
            made[node.targets[0].target.value] = node.value
            if type(node.value) is cst.Attribute:
                originals[node.targets[0].target.value] = node.value.attr.value
    callees = [node.func for node in nodes if type(node) is cst.Call]
    called = {callee.value for callee in callees if type(callee) is cst.Name}
    found: dict[str, str] = {}
    for callee in callees:
        lookup = made.get(callee.value) if type(callee) is cst.Name else callee
        if type(lookup) is not cst.Call or len(lookup.args) < 2 or not _gets(lookup.func):
            continue
        lookup_name, default = lookup.args[0].value, lookup.args[-1].value
        name = default.value if type(default) is cst.Name else ""
        if type(lookup_name) is cst.Attribute and name in originals and name not in called:
            found[originals[name]] = lookup_name.attr.value
    return found


def _decorated(decorator: cst.FunctionDef, nodes: Sequence[cst.CSTNode]) -> list[str]:
    """The parameters of a decorator, or of the decorator that it makes, that get the decorated function."""
    makers = [decorator, *(node for node in nodes if type(node) is cst.FunctionDef and _makes_function(node))]
    return [maker.params.params[0].name.value for maker in makers if maker.params.params]


def _makes_function(node: cst.FunctionDef) -> bool:
    return any(type(inner) is cst.FunctionDef for inner in walk(node.body))


def _gets(func: cst.BaseExpression) -> bool:
    """Whether ``func`` looks something up, by its name: ``table.get``, ``get_kernel``."""
    name = func.attr if type(func) is cst.Attribute else func
    return type(name) is cst.Name and name.value.startswith("get")


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![a-zA-Z]){re.escape(name)}(?![a-zA-Z])", text) is not None
