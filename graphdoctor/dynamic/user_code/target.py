"""What to run: the sample-input conventions, in order, and fresh copies of model and inputs for each run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import torch
from torch import nn

from graphdoctor.dynamic.parent.input_specs import Argument, parse_inputs
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.called import NoTarget, result_of
from graphdoctor.dynamic.user_code.factories import made_by
from graphdoctor.dynamic.user_code.fresh import SEED, Sample, Samples, seed
from graphdoctor.dynamic.user_code.given_inputs import sample_with
from graphdoctor.dynamic.user_code.small_memory import SmallMemory
from graphdoctor.source.called_target import name_of

__all__ = ["SEED", "Mode", "NoTarget", "Sample", "Target", "call_arguments", "find", "seed"]

Mode = Literal["eval", "train"]


@dataclass(frozen=True)
class Target:
    """``build`` makes the sample anew (seeded); ``variants`` are argument tuples to call in order.

    ``fresh`` gives copies of a sample that is built once, with parameters of their own on request.
    """

    name: str
    build: Callable[[], Sample]
    device: torch.device
    variants: Callable[[], Sequence[Any]] | None = None
    loss: Callable[[Any], torch.Tensor] | None = None
    optimizer: Callable[[nn.Module], torch.optim.Optimizer] | None = None
    fresh: Samples | None = None
    #: What the model is called with, and where that comes from: one line.
    inputs: str = ""
    #: How what is run differs from what the code builds: fewer blocks, other weights. A sentence each.
    altered: tuple[str, ...] = ()
    #: Whether a module is called, itself or through one of its methods.
    of_module: bool = True

    def sample(self, mode: Mode, own: bool = False) -> Sample:
        """A sample on the target's device, its module in ``mode``, the random generators seeded.

        ``own``: with parameters that the caller is going to write to.
        """
        seed()
        sample = self.fresh(own) if self.fresh else self.build()
        module = sample.module
        if module is not None:
            module.to(self.device).train(mode == "train")
        sample.args, sample.kwargs = self.on_device((sample.args, sample.kwargs))
        seed()
        return sample

    def on_device(self, value: Any) -> Any:
        """``value`` with copies of its tensors on the target's device."""
        return pytree.map_tensors(value, lambda tensor: pytree.clone(tensor, self.device))


def find(
    module: ModuleType, name: str | None, specs: tuple[str, ...], device: torch.device, blocks: int | None = None
) -> Target:
    """The target that ``module`` offers. Raises NoTarget, InputSpecError, or what the user's code raises.

    With ``blocks``, models have that many blocks of one kind in a list at most (``small_memory``).
    """
    arguments = _parsed(specs)
    convention = _convention(module)
    if name is not None:
        build = _named(module, name, convention, arguments)
    elif convention is not None:
        build = _with_inputs(convention, arguments)
    elif arguments is not None:
        build = _with_inputs(_single_module(module), arguments)
    else:
        raise NoTarget(
            "no sample input: define graphdoctor_target() returning (model, args), or give --target and --input"
        )
    small = SmallMemory(build, blocks, device)
    seed()
    first = small.build()
    return Target(
        name=name or _name(first.function),
        build=small.build,
        device=device,
        variants=getattr(module, "graphdoctor_variants", None),
        loss=getattr(module, "graphdoctor_loss", None),
        optimizer=getattr(module, "graphdoctor_optimizer", None),
        fresh=Samples(first, small.build),
        altered=small.altered,
        of_module=first.module is not None,
    )


def _name(function: Callable[..., Any]) -> str:
    if isinstance(function, nn.Module):
        return type(function).__name__
    return getattr(function, "__qualname__", type(function).__name__)


# Conventions


def _convention(module: ModuleType) -> Callable[[], Sample] | None:
    """The builder of the first convention that the file follows."""
    if callable(getattr(module, "graphdoctor_target", None)):
        return lambda: _declared(module.graphdoctor_target())
    model, get_inputs = getattr(module, "Model", None), getattr(module, "get_inputs", None)
    if isinstance(model, type) and callable(get_inputs):
        get_init = getattr(module, "get_init_inputs", list)

        def kernel_bench() -> Sample:
            args, kwargs = call_arguments(get_init())
            instance = model(*args, **kwargs)
            return Sample(instance, *_positional(get_inputs()), origin="get_inputs()")

        return kernel_bench
    return _from_attributes(module)


def _declared(value: Any) -> Sample:
    """What ``graphdoctor_target()`` returned: that of a target which is named (``of_name``) is a sample."""
    return value if isinstance(value, Sample) else _from_tuple(value, "graphdoctor_target()")


def _from_tuple(value: Any, origin: str) -> Sample:
    if not isinstance(value, tuple) or len(value) not in (2, 3) or not callable(value[0]):
        raise NoTarget(f"{origin} must return (model_or_function, args) or (model_or_function, args, kwargs)")
    if isinstance(value[0], type) and issubclass(value[0], nn.Module):
        name = value[0].__name__
        raise NoTarget(f"{origin} returned the class {name}; return an object of it, {name}(...)")
    keywords = value[2] if len(value) == 3 and value[2] is not None else {}
    if not isinstance(keywords, dict):
        raise NoTarget(f"the third thing that {origin} returns must be a dict of keyword arguments")
    args, kwargs = _positional(value[1])
    return Sample(_uncompiled(value[0]), args, {**kwargs, **keywords}, origin=origin)


#: Where a module keeps its inputs: Lightning's name, and Hugging Face's.
_INPUTS = ("example_input_array", "dummy_inputs")


def _from_attributes(module: ModuleType) -> Callable[[], Sample] | None:
    """A module with inputs of its own, instances first."""
    candidates: list[Any] = [v for v in vars(module).values() if isinstance(v, nn.Module)]
    candidates += reversed(_classes(module))
    for candidate in candidates:
        for attribute in _INPUTS:
            owner = candidate if isinstance(candidate, nn.Module) else None
            if owner is None and attribute not in _mentioned(candidate):
                continue
            if owner is not None and _attribute(owner, attribute) is None:
                continue
            return lambda c=candidate, a=attribute: _with_attribute(_instance(c), a)  # type: ignore[misc]
    return None


def _with_attribute(instance: nn.Module, attribute: str) -> Sample:
    value = _attribute(instance, attribute)
    if value is None:
        raise NoTarget(f"{type(instance).__name__}.{attribute} is None: set it to a sample input")
    origin = f"{type(instance).__name__}.{attribute}"
    return Sample(instance, *_positional(value if isinstance(value, (tuple, dict)) else (value,)), origin=origin)


def _attribute(instance: nn.Module, name: str) -> Any:
    try:
        return getattr(instance, name, None)
    except Exception:  # a property of the user's
        return None


def _mentioned(cls: type) -> set[str]:
    """The names a class and its bases in the same file bind or use, without making an instance."""
    names: set[str] = set()
    for base in cls.__mro__:
        if base.__module__ == cls.__module__:
            names |= set(vars(base))
            init = vars(base).get("__init__")
            if inspect.isfunction(init):
                names |= set(init.__code__.co_names)
    return names


# --target and --input


def _parsed(specs: tuple[str, ...]) -> tuple[Argument, ...] | None:
    return parse_inputs(specs) if specs else None


def _named(
    module: ModuleType, name: str, convention: Callable[[], Sample] | None, arguments: tuple[Argument, ...] | None
) -> Callable[[], Sample]:
    if name_of(name) != name:
        return _with_inputs(lambda: of_call(module, name, arguments is not None), arguments)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None or not callable(found):
        raise NoTarget(f"--target {name!r}: {module.__name__} has no function, module class or module of this name")

    def build() -> Sample:
        function = _instance(found)
        if arguments is not None:
            return sample_with(_model(function), arguments)
        for attribute in _INPUTS:
            if isinstance(function, nn.Module) and _attribute(function, attribute) is not None:
                return _with_attribute(function, attribute)
        if convention is not None:
            sample = convention()
            return Sample(_model(function), sample.args, sample.kwargs, origin=sample.origin)
        raise NoTarget(f"--target {name!r} has no inputs: give --input, for example --input 'float32[8,3]'")

    return build


def of_call(module: ModuleType, call: str, inputs: bool) -> Sample:
    """The sample of what ``call``, which the user named, makes. Raises NoTarget, or what the user's code raises.

    ``inputs``: the user gives them, in place of those that the result has or comes with.
    """
    made = _uncompiled(result_of(module, call))
    if isinstance(made, tuple):
        return _from_tuple(made, call)
    if not callable(made):
        raise NoTarget(f"{call} makes no model and no function, but {type(made).__name__}")
    if inputs:
        return Sample(made, ())
    for attribute in _INPUTS:
        if isinstance(made, nn.Module) and _attribute(made, attribute) is not None:
            return _with_attribute(made, attribute)
    raise NoTarget(f"{call} has no inputs: give --input, for example --input 'float32[8,3]'")


def _model(function: Callable[..., Any]) -> Callable[..., Any]:
    """The model that ``function`` makes, such as ``resnet18()``; else ``function`` itself."""
    made = made_by(function)
    return made[0] if isinstance(made, tuple) else function if made is None else made


def of_name(found: Callable[..., Any], shown: str, inputs: bool) -> Sample:
    """The sample of ``found``, which the user named ``shown``, as ``module:name``. Raises NoTarget.

    ``inputs``: the user gives them, in place of those that ``found`` has or returns.
    """
    if inputs:
        return Sample(_model(_instance(found)), ())
    made = _instance(found) if isinstance(found, type) else found()
    if not isinstance(made, nn.Module):
        return _from_tuple(made, f"{shown}()")
    for attribute in _INPUTS:
        if _attribute(made, attribute) is not None:
            return _with_attribute(made, attribute)
    raise NoTarget(f"{shown} is a model without inputs: give --input, for example --input 'float32[8,3]'")


def _with_inputs(build: Callable[[], Sample], arguments: tuple[Argument, ...] | None) -> Callable[[], Sample]:
    if arguments is None:
        return build
    return lambda: sample_with(build().function, arguments)


def _single_module(module: ModuleType) -> Callable[[], Sample]:
    classes = _classes(module)
    built: list[type] = []
    for cls in classes:
        try:
            cls()
        except TypeError:
            continue
        built.append(cls)
    if len(built) != 1:
        names = ", ".join(cls.__name__ for cls in built) or "none of this file"
        raise NoTarget(
            f"--input needs one nn.Module that builds without arguments, found {names}: name one with --target"
        )
    return lambda: Sample(built[0](), ())


def _classes(module: ModuleType) -> list[type[nn.Module]]:
    """The module classes that the file itself defines, in order."""
    return [
        v for v in vars(module).values()
        if isinstance(v, type) and issubclass(v, nn.Module) and v.__module__ == module.__name__
    ]  # fmt: skip


def _instance(found: Any) -> Any:
    if not isinstance(found, type):
        return _uncompiled(found)
    try:
        return found()
    except TypeError as error:
        raise NoTarget(
            f"{found.__name__} does not build without arguments ({error}): "
            f"give them, --target '{found.__name__}(...)', or define graphdoctor_target()"
        ) from None


def call_arguments(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """One call's arguments: like ``_positional``, or ``(tuple, dict)`` of both kinds."""
    if isinstance(value, (list, tuple)) and [type(part) for part in value] in ([list, dict], [tuple, dict]):
        return tuple(value[0]), dict(value[1])
    return _positional(value)


def _positional(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """One call's arguments: a tuple or list of them, a mapping of keywords, or a single one."""
    if isinstance(value, Mapping):
        return (), dict(value)
    return (tuple(value) if isinstance(value, (list, tuple)) else (value,)), {}


def _uncompiled(function: Any) -> Any:
    """What ``torch.compile`` was given, when ``function`` is its result: eager runs need the original."""
    original = getattr(function, "_orig_mod", None) or getattr(function, "_torchdynamo_orig_callable", None)
    return original if original is not None else function
