"""Objects of classes of the scanned code: their constructors, and the functions that build modules."""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo
from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import (
    CHILDREN,
    UNKNOWN,
    Class,
    External,
    ExternalObject,
    Function,
    Imported,
    Instance,
    PythonValue,
    Seq,
    Tensor,
    Value,
)
from graphdoctor.static.interp import calls, definitions, imports
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import made_anew, pydantic_models
from graphdoctor.static.library_models.modules import torch_layers
from graphdoctor.static.memo.summaries import object_key


def instantiate(
    interpreter: Interpreter, node: cst.CSTNode, value: Class, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """Make an object of a class of scanned code: run ``__init__`` outside the compiled region."""
    info = value.info
    if info.derives("enum.Enum", "enum.IntEnum", "enum.StrEnum"):
        return PythonValue("object")
    if info.derives(torch_tables.SCRIPT_MODULE):
        # The class compiles its methods to TorchScript, as ``torch.jit.script`` does with a module.
        return ExternalObject("torch.jit.script")
    key = None if interpreter.frame.compiled else object_key(info, args, kwargs)
    known = interpreter.summaries.find(key, interpreter.frame) if key is not None else None
    if known is not None:
        if isinstance(known, Instance):
            known.copies += 1
        return known
    foreign = info.module is not interpreter.main and not info.is_module
    inside = interpreter.frame.compiled
    instance = Instance(
        info, shared=interpreter.main is None, is_representative=key is not None, inside=inside, may_be_subclass=foreign
    )
    if key is not None:
        interpreter.summaries.keep(key, interpreter.frame, instance)
    init = None if _made_by_dataclass(info) else info.lookup("__init__")
    if isinstance(init, Function):
        calls.call_function(interpreter, node, init.to(instance), args, kwargs)
    elif info.fields:
        for position, name in enumerate(info.fields):
            argument = args[position] if position < len(args) else kwargs.get(name)
            default = info.lookup(name)
            instance.attrs[name] = argument if argument is not None else default if default is not None else UNKNOWN
        if inside and _made_by_dataclass(info):
            defaults = {name: default for name in info.fields if (default := info.lookup(name)) is not None}
            made_anew.report_defaults(interpreter, node, instance, defaults, info.fields, args, kwargs)
        post = info.lookup("__post_init__")
        # In another module it mostly checks the fields for all subclasses: that costs more than it shows.
        if isinstance(post, Function) and post.info.module is info.module:
            calls.call_function(interpreter, node, post.to(instance), (), {})
    if interpreter.frame.compiled and info.derives(*torch_tables.PYDANTIC_MODELS):
        interpreter.emit(Call, node, qualname="pydantic.BaseModel", args=args, kwargs=kwargs, receiver=None)
        pydantic_models.validate(interpreter, node, instance, [name for name in info.fields if name in kwargs])
    if info.is_module and interpreter.frame.compiled:
        interpreter.emit(Call, node, qualname="torch.nn.Module.__init__", args=args, kwargs=kwargs, receiver=instance)
    if init is None:
        hold_children(instance, args)
    return instance


def declared_attribute(interpreter: Interpreter, receiver: Instance, name: str) -> Value | None:
    """What the class of ``receiver``, an object that was made elsewhere, says of an attribute that is a tensor; else
    None.
    """
    declared = receiver.info.declared_tensor(name)
    if declared is None:
        return None
    where, node = declared
    frame = Frame(function=None, module=where, scope=where.scope, statement=receiver.info.node, muted=True)
    with interpreter.call(frame):
        found = definitions.annotation(interpreter, node)
    return found if any(isinstance(option, Tensor) for option in options(found)) else None


def field_values(interpreter: Interpreter, receiver: Instance) -> list[Value]:
    """The values of the fields of a named tuple."""
    held = (receiver.attrs.get(f) or declared_attribute(interpreter, receiver, f) for f in receiver.info.fields)
    return [UNKNOWN if value is None else value for value in held]


def _made_by_dataclass(info: ClassInfo) -> bool:
    """Whether the dataclass decorator makes ``__init__``, which then overrides that of a base."""
    nearest = next((known for known in info.mro if known.dataclass or "__init__" in known.attrs), None)
    return nearest is not None and "__init__" not in nearest.attrs


#: A class that derives from one keeps what it was given, like the functions that a model applies in turn.
_LISTS = ("builtins.list", ".UserList")


def hold_children(module: Instance, args: tuple[Value, ...]) -> bool:
    """Whether the class of ``module`` derives from a list or a container of torch, which is given ``args``."""
    bases = (base for base in module.info.externals if base.endswith((".ModuleList", ".Sequential", *_LISTS)))
    base = next(bases, None)
    if base is not None and base.endswith(_LISTS):
        module.attrs[CHILDREN] = args[0] if args and isinstance(args[0], Seq) else Seq("list", None, UNKNOWN)
    elif base is not None:
        made = torch_layers.new_layer(base, args) if args else None
        module.attrs[CHILDREN] = Seq("list", ()) if made is None else made.children or UNKNOWN
    return base is not None


def add_child(module: Instance, child: Value) -> bool:
    """Add ``child`` to ``module``, perhaps more than once, as in a loop. Returns False where that is no container."""
    known = module.attrs.get(CHILDREN)
    if not isinstance(known, Seq):
        return False
    module.attrs[CHILDREN] = Seq(
        "list", None, join(child, *(known.items if known.items is not None else (known.element,)))
    )
    return True


def patch_class(interpreter: Interpreter, patched: Class, name: str, value: Value) -> None:
    """``Net.forward = forward``, for classes of the scanned file: those of others stay as they are for other files.

    A function that nothing calls changes no class.
    """
    is_out_of_place = interpreter.frame.compiled or interpreter.region_facts.uncalled
    if patched.info.module is interpreter.main and not is_out_of_place and isinstance(value, Function):
        before = patched.info.attrs.get(name) if interpreter.frame.conditional else None
        patched.info.attrs[name] = value if before is None else join(before, value)


#: The depth of calls to which ``builds_module_or_logger`` looks for one that makes a module.
_DEEPEST = 3
_CALL = re.compile(r"(?:\b(\w+)\.)?\b(\w+)\(")
#: A class whose object a function gives back: ``return Sampler(size)``.
_GIVEN = re.compile(r"\breturn[ \t]+([A-Z]\w*)\(")
#: A class that a function stores or gives back: ``cell = LSTM``.
_CHOICE = re.compile(r"(?:=|\breturn)[ \t]*([A-Z]\w*)[ \t]*$", re.M)


def builds_module_or_logger(interpreter: Interpreter, info: FunctionInfo, depth: int = 0) -> bool:
    """Whether the text of ``info`` makes an ``nn.Module`` or a logger, chooses the class of a module, or calls a
    function that does.

    An object of another class that it gives back may be a part of a module.
    """
    if info.builds_module_or_logger is None:
        # Set first, because the function may call itself.
        info.builds_module_or_logger = False
        text = info.module.source.code(info.node)
        called = {*_CALL.findall(text), *(("", name) for name in _CHOICE.findall(text))}
        info.builds_module_or_logger = (
            "getLogger(" in text
            or any(_makes_module(interpreter, info, owner, name, depth) for owner, name in called)
            or any(isinstance(info.module.scope.names.get(name), Class) for name in _GIVEN.findall(text))
        )
    return info.builds_module_or_logger


def _makes_module(interpreter: Interpreter, info: FunctionInfo, owner: str, name: str, depth: int) -> bool:
    names = info.module.scope.names
    if owner:
        return names.get(owner) == External("torch.nn") and name[:1].isupper()
    named: Value | None = names.get(name)
    if isinstance(named, Imported) and name[:1].isupper():
        named = imports.resolve(interpreter, named)
    if isinstance(named, Class):
        return named.info.is_module
    return (
        isinstance(named, Function) and depth < _DEEPEST and builds_module_or_logger(interpreter, named.info, depth + 1)
    )


def may_matter(interpreter: Interpreter, info: FunctionInfo, args: tuple[Value, ...]) -> bool:
    """Whether a call outside regions may matter for what is compiled.

    That is so for functions of the scanned file and constructors; elsewhere, for functions that make modules or give
    back an object that they made, that a constructor calls, that wrap a function they are given, or that make a
    decorator of their module.
    """
    if info.module is interpreter.main or info.name in CONSTRUCTORS:
        return True
    caller = interpreter.frame.function if info.owner is None else None
    stored = caller is not None and caller.module is interpreter.main and _constructs(interpreter)
    decorates = type(interpreter.frame.statement) is cst.FunctionDef and info.module is interpreter.frame.module
    wraps = (decorates or any(type(arg) is Function for arg in args)) and info.gives_own_function
    return stored or wraps or builds_module_or_logger(interpreter, info)


def _constructs(interpreter: Interpreter) -> bool:
    """Whether a constructor of the scanned file is running, perhaps in a helper such as ``self.build_head()``."""
    running = (frame.function for frame in interpreter.frames)
    return any(f is not None and f.name in CONSTRUCTORS and f.module is interpreter.main for f in running)


#: Methods that initialise an object.
CONSTRUCTORS = ("__init__", "__post_init__")
