"""Modules that prepare samples for a model, such as augmentations, or show its results: nobody compiles them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.torch_tables import within, words
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import (
    Class,
    External,
    ExternalObject,
    Function,
    Instance,
    Tensor,
    TorchModule,
    Value,
)
from graphdoctor.static.interp.definitions import parameters
from graphdoctor.static.interp.imports import import_names
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.definitions import defined
from graphdoctor.syntax.walk import find, walk

#: Packages of datasets and samplers.
DATASETS = ("torch.utils.data.", "torchvision.datasets.", "torchaudio.datasets.")
_TORCHVISION = frozenset({"torchvision.transforms"})
_TRANSFORMS = _TORCHVISION | {"albumentations"}
_DATA_MODULE = "LightningDataModule"


def is_around_a_model(interpreter: Interpreter, made: Instance) -> bool:
    """Whether the module ``made``, which no other holds, prepares samples for a model, shows its results, or takes the
    model itself: ``average(model)``.
    """
    return _is_data_transform(interpreter, made) or _works_on_files(interpreter, made) or _takes_a_model(made.info)


def _takes_a_model(info: ClassInfo) -> bool:
    forward = info.lookup("forward")
    params = parameters(forward.info.node.params)[1:] if isinstance(forward, Function) else []
    return [param.name.value for param in params] == ["model"]


def _is_data_transform(interpreter: Interpreter, made: Instance) -> bool:
    """Whether the module ``made``, which no other holds, is a transform of a data pipeline.

    It is one of torchvision's transforms; or it holds no layer and no tensor, and it or an object that it holds uses
    such transforms, or draws random numbers beside a dataset or torchvision's transforms. A layer such as DropPath
    draws, too, but beside other layers.
    """
    info = made.info
    if any(within(base, _TORCHVISION) for base in info.externals):
        return True
    held = [option for value in made.attrs.values() for option in options(value)]
    if any(map(_may_learn, held)):
        return False
    # A module may hand its samples to an object that does the work.
    classes = [base for one in (made, *held) if isinstance(one, Instance) for base in one.info.mro]
    own = [value for known in classes if known.module is info.module for value in known.attrs.values()]
    nodes = [node for value in own if isinstance(value, Function) for node in walk(value.info.body)]
    used = [name for node in nodes for name in _used(interpreter, info.module, node)]
    if any(within(name, _TRANSFORMS) for name in used):
        return True
    return any(map(draws, nodes)) and _is_about_data(info.module)


#: What opens pictures, sounds and other files, also in memory or on the network.
_OPENING = words(
    "PIL.Image.open cv2.imread cv2.imdecode cv2.VideoCapture imageio io.BytesIO nibabel requests skimage.io soundfile "
    "tifffile urllib"
)


def _works_on_files(interpreter: Interpreter, made: Instance) -> bool:
    """Whether the forward of the module ``made``, which no other holds, opens files, beside no layer and no tensor of
    its own: it reads them for a model that it was given, or turns results into files.
    """
    forward = made.info.lookup("forward")
    if not isinstance(forward, Function) or any(_may_learn(o) for v in made.attrs.values() for o in options(v)):
        return False
    nodes = walk(forward.info.body)
    return any(within(name, _OPENING) for node in nodes for name in _named(interpreter, forward.info.module, node))


def _named(interpreter: Interpreter, module: ModuleInfo, node: cst.CSTNode) -> Iterator[str]:
    """What ``node`` reads of other packages, also as a member of a module: ``Image.open``."""
    if type(node) is cst.Attribute:
        yield from (f"{name}.{node.attr.value}" for name in _used(interpreter, module, node.value))
    else:
        yield from _used(interpreter, module, node)


def takes_arrays_alone(info: ClassInfo) -> bool:
    """Whether the forward of a module declares arrays of numpy and no tensor: it prepares data, and calls models."""
    forward = info.lookup("forward")
    if not isinstance(forward, Function):
        return False
    given = [p.annotation for p in parameters(forward.info.node.params) if p.annotation is not None]
    named = {name.value for annotation in given for name in find(annotation, cst.Name)}
    return "ndarray" in named and not any(name.endswith("Tensor") for name in named)


def is_dataset(info: ClassInfo) -> bool:
    """Whether a class is a dataset: by its bases, or because it is called one and gives items by number."""
    if any(base.startswith(DATASETS) and not base.endswith("Sampler") for base in info.externals):
        return True
    named = any(base.name.endswith("Dataset") for base in info.mro)
    return named and not info.is_module and info.lookup("__getitem__") is not None


def _may_learn(value: Value) -> bool:
    """Whether an attribute is a layer, a tensor, or an object of another package than the transforms."""
    if isinstance(value, ExternalObject):
        return not within(value.qualname, _TRANSFORMS)
    return isinstance(value, (TorchModule, Tensor)) or (isinstance(value, Instance) and value.info.is_module)


def _used(interpreter: Interpreter, module: ModuleInfo, node: cst.CSTNode) -> Iterator[str]:
    """The names of other packages that ``node`` reads or imports."""
    if type(node) is cst.Name:
        value = module.scope.names.get(node.value)
        if isinstance(value, External):
            yield value.qualname
    elif type(node) is cst.Import or type(node) is cst.ImportFrom:
        yield from import_names(interpreter, node)


#: Methods that fill a tensor with random numbers.
FILLING = words("bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ uniform_")


def draws(node: cst.CSTNode) -> bool:
    """Whether ``node`` names a source of random numbers: ``torch.rand(1)``, ``np.random``, ``random.choice``."""
    return (type(node) is cst.Attribute and node.attr.value.startswith("rand")) or (
        type(node) is cst.Name and node.value == "random"
    )


def _is_about_data(module: ModuleInfo) -> bool:
    """Whether a file defines a dataset, or takes something from torchvision's transforms."""
    values = [value for _, value in defined(module)]
    classes = [value.info for value in values if isinstance(value, Class) and value.info.module is module]
    bases = [base for info in classes for base in info.externals]
    if any(base.startswith(DATASETS) or base.endswith(_DATA_MODULE) for base in bases) or any(map(is_dataset, classes)):
        return True
    names = [value.qualname for value in module.scope.names.values() if isinstance(value, External)]
    return any(within(name, _TORCHVISION) for name in names)
