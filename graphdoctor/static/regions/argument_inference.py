"""Evidence in a function body that an unannotated parameter is a tensor, or a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import libcst as cst

from graphdoctor.static.domain.program import FunctionInfo
from graphdoctor.static.domain.tensor_methods import ARRAY_METHODS, TENSOR_METHODS, TENSOR_PROPERTIES
from graphdoctor.static.domain.torch_tables import TENSOR_EVIDENCE, words
from graphdoctor.static.regions.flags import counters, only_asked, replaced, text_item
from graphdoctor.syntax.walk import find, walk

_OF_TENSORS = TENSOR_METHODS | ARRAY_METHODS | TENSOR_PROPERTIES
#: What shows a tensor without a call.
_READ = words("device dtype ndim shape")
#: Methods of a batch. What is asked by ``get`` is rather a table of options.
_OF_DICTS = words("items keys pop update")
#: Attributes of tensors that modules, trainers and loaders have too.
OF_MODULES = words("device dtype cpu cuda half float double bfloat16 requires_grad_ add")


def uses_of(info: FunctionInfo) -> tuple[set[str], set[str]]:
    """``uses`` of the body of a function, computed once: the function may be entered, and called by others."""
    if info.uses is None:
        tensors, numbers = uses(info.body)
        tensors -= _rebound(info.body, tensors)
        info.uses = frozenset(tensors), frozenset(numbers | only_asked(info.body))
    return set(info.uses[0]), set(info.uses[1])


def _rebound(body: cst.BaseSuite | cst.BaseExpression, tensors: set[str]) -> set[str]:
    """Those of ``tensors`` that are bound to another value before anything shows that they are tensors."""
    lines = body.body if isinstance(body, cst.BaseSuite) else ()
    found: set[str] = set()
    for number, line in enumerate(lines):
        small = line.body[0] if type(line) is cst.SimpleStatementLine else None
        if type(small) is not cst.Assign or len(small.targets) != 1:
            continue
        target = small.targets[0].target
        if type(target) is not cst.Name or target.value not in tensors:
            continue
        if any(name.value == target.value for name in find(small.value, cst.Name)):
            continue
        if not any(target.value in uses(before)[0] for before in lines[:number]):
            found.add(target.value)
    return found


def uses(body: cst.CSTNode, evidence: frozenset[str] = TENSOR_EVIDENCE) -> tuple[set[str], set[str]]:
    """Names in ``body`` that are used as only tensors are: ``x.shape``, ``x.view()``, ``torch.f(x)``, ``x[x > 0]``;
    and those that are not tensors: used as numbers are, such as ``n`` of ``range(n)``, ``x[:n]``, ``x.shape[n]``,
    ``dim=n``, ``torch.arange(n)``, ``x.view(n, -1)``, ``if n % k`` and ``i % n`` of a counted loop, holding the keys of
    a dict, or asked for what no tensor has.
    ``evidence``: the attributes that count.
    """
    found = _Evidence(evidence)
    for node in walk(body, stop=(cst.FunctionDef, cst.ClassDef)):
        if type(node) in _READERS:
            _READERS[type(node)](found, node)
    found.objects |= found.asked_as_dicts - found.keyed
    return found.tensors - found.others, found.others | found.numbers | (found.objects - found.tensors)


class _Evidence:
    """What the nodes of a body, in source order, show of its names."""

    def __init__(self, attributes: frozenset[str]) -> None:
        self.attributes = attributes
        self.tensors: set[str] = set()
        #: No tensors, whatever else they are used as.
        self.others: set[str] = set()
        self.numbers: set[str] = set()
        #: Asked for what no tensor has.
        self.objects: set[str] = set()
        #: Asked for what a dict has, such as ``data.update(...)``, and those that have keys: ``data["mask"]``.
        self.asked_as_dicts: set[str] = set()
        self.keyed: set[str] = set()
        #: Names of comparisons, each with the name that is compared.
        self._masks: dict[str, str] = {}
        #: Names that were bound to sizes, as in ``n, d = x.shape``.
        self._sizes: set[str] = set()
        #: Names that count the rounds of a loop: ``for i in range(n)``.
        self._rounds: set[str] = set()

    def attribute(self, node: cst.Attribute) -> None:
        if type(node.value) is not cst.Name:
            return
        name, attribute = node.value.value, node.attr.value
        if attribute in _OF_MASKS and name in self._masks:
            self.tensors.add(self._masks[name])
        if attribute in _READ and attribute in self.attributes:
            self.tensors.add(name)
        elif attribute in _OF_DICTS:
            self.asked_as_dicts.add(name)
        elif attribute not in _OF_TENSORS and not attribute.startswith("_"):
            self.objects.add(name)

    def call(self, node: cst.Call) -> None:
        # A method that is only read is rather an option of that name: ``args.exp``.
        func = node.func
        method = func.attr.value if type(func) is cst.Attribute and type(func.value) is cst.Name else ""
        if method in self.attributes and not _may_be_of_others(node):
            self.tensors.add(func.value.value)  # type: ignore[attr-defined]
        _arguments(node, self.tensors, self.others)
        self.numbers.update(_sizes(node))
        self.numbers.update(_factors(node, self._sizes))

    def bounds(self, node: cst.Slice) -> None:
        self.numbers.update(_terms(node.lower))
        self.numbers.update(_terms(node.upper))

    def keys(self, node: cst.DictComp) -> None:
        self.others.update(_holding(node.key, node.for_in))

    def option(self, node: cst.Arg) -> None:
        if node.keyword is not None and node.keyword.value in ("dim", "axis", "size"):
            self.numbers.update(_terms(node.value))

    def subscript(self, node: cst.Subscript) -> None:
        if type(node.value) is cst.Attribute and node.value.attr.value == "shape":
            index = node.slice[0].slice
            self.numbers.update(_terms(index.value if type(index) is cst.Index else None))
            return
        self.tensors.update(_masks(node))
        if type(node.value) is not cst.Name:
            return
        if _selects(node, self._masks):
            self.tensors.add(node.value.value)
        elif text_item(node) is not None:
            self.keyed.add(node.value.value)

    def loop(self, node: cst.For) -> None:
        counted = type(node.iter) is cst.Call and _is_named(node.iter.func, "range")
        self._rounds.update(_terms(node.target) if counted else ())

    def operation(self, node: cst.BinaryOperation) -> None:
        if type(node.operator) is cst.Modulo and self._rounds.intersection(_terms(node.left)):
            self.numbers.update(_terms(node.right))

    def branch(self, node: cst.If) -> None:
        self.objects.update(counters(node.test))
        self.others.update(replaced(node))

    def assignment(self, node: cst.Assign) -> None:
        self._masks.update(_compared(node))
        if _is_size(node.value):
            self._sizes.update(_terms(node.targets[0].target))


_READERS: dict[type[cst.CSTNode], Callable[[_Evidence, Any], None]] = {
    cst.Attribute: _Evidence.attribute,
    cst.Call: _Evidence.call,
    cst.Slice: _Evidence.bounds,
    cst.DictComp: _Evidence.keys,
    cst.Arg: _Evidence.option,
    cst.Subscript: _Evidence.subscript,
    cst.For: _Evidence.loop,
    cst.BinaryOperation: _Evidence.operation,
    cst.If: _Evidence.branch,
    cst.Assign: _Evidence.assignment,
}


def _compared(node: cst.Assign) -> Iterator[tuple[str, str]]:
    """The name that is assigned a comparison, and the one that is compared: ``valid = labels != -100``."""
    target, value = node.targets[0].target, node.value
    if type(target) is cst.Name and type(value) is cst.Comparison and type(value.left) is cst.Name:
        yield target.value, value.left.value


#: Attributes and methods of a comparison that only a tensor has, not a ``bool``.
_OF_MASKS = words("sum any all float long int nonzero to view unsqueeze squeeze")


def _selects(node: cst.Subscript, masks: Mapping[str, str]) -> bool:
    """Whether ``node`` is ``x[x > 0]``, a selection by its own values, or ``x[mask]`` with such a mask."""
    index, name = node.slice[0].slice, node.value
    test = index.value if type(index) is cst.Index else None
    compared = test.left if type(test) is cst.Comparison else test
    if type(name) is not cst.Name or type(compared) is not cst.Name:
        return False
    return name.value == (compared.value if type(test) is cst.Comparison else masks.get(compared.value))


def _masks(node: cst.Subscript) -> Iterator[str]:
    """The names in an index that are masks: ``x[~padding]``, or ``x[mask]`` by its name."""
    for element in node.slice:
        index = element.slice.value if type(element.slice) is cst.Index else None
        if type(index) is cst.UnaryOperation and type(index.operator) is cst.BitInvert:
            if type(index.expression) is cst.Name:
                yield index.expression.value
        elif type(index) is cst.Name and is_called_mask(index.value):
            yield index.value


def is_called_mask(name: str) -> bool:
    """Whether the name of an index is by custom that of a mask: ``mask``, ``fg_masks``, not ``index_or_mask``."""
    words_of = name.split("_")
    return words_of[-1] in ("mask", "masks") and "or" not in words_of


def keyed(body: cst.BaseSuite | cst.BaseExpression) -> set[str]:
    """Names in ``body`` that are used as only mappings are: ``b["mask"]``, ``"mask" in b``, ``b.items()``."""
    found: set[str] = set()
    for child in walk(body, stop=(cst.FunctionDef, cst.ClassDef)):
        if type(child) is cst.Subscript:
            item = text_item(child)
            if item is not None:
                found.add(item[0])
        elif type(child) is cst.Comparison:
            asked = child.comparisons[0]
            within = type(asked.operator) in (cst.In, cst.NotIn) and type(child.left) is cst.SimpleString
            if within and type(asked.comparator) is cst.Name:
                found.add(asked.comparator.value)
        elif type(child) is cst.Attribute and type(child.value) is cst.Name and child.attr.value in ("items", "keys"):
            found.add(child.value.value)
    return found


def unpacked(body: cst.BaseSuite | cst.BaseExpression) -> dict[str, list[tuple[str, bool]]]:
    """The names that are unpacked into tensors, as in ``logits, actions = data``: each with the names of its parts, and
    whether they are used as tensors are, and not as modules or arrays are, too.
    """
    targets = {
        node.value.value: node.targets[0].target for node in find(body, cst.Assign) if type(node.value) is cst.Name
    }
    parts = {name: _parts(target) for name, target in targets.items() if type(target) is cst.Tuple}
    if not any(parts.values()):
        return {}
    tensors, numbers = uses(body, TENSOR_EVIDENCE - OF_MODULES)
    sure = uses(body, _OF_TENSORS_ONLY)[0] - numbers
    return {
        name: [(part, part in tensors - numbers) for part in found]
        for name, found in parts.items()
        if not sure.isdisjoint(found)
    }


def _parts(target: cst.Tuple) -> list[str]:
    """The names in ``a, b = ...``; empty where it takes any number of items."""
    if any(type(element) is cst.StarredElement for element in target.elements):
        return []
    return [element.value.value if type(element.value) is cst.Name else "" for element in target.elements]


#: Evidence of tensors that neither modules nor arrays have.
_OF_TENSORS_ONLY = TENSOR_EVIDENCE - OF_MODULES - ARRAY_METHODS - words("shape size ndim")


def _holding(element: cst.BaseExpression, loop: cst.CompFor) -> Iterator[str]:
    """The name of the container from which a comprehension takes ``element``: ``keys`` for ``k`` in ``zip(keys,
    values)``."""
    targets: list[cst.BaseExpression] = [loop.target]
    values = [loop.iter]
    if type(loop.target) is cst.Tuple and type(loop.iter) is cst.Call and _is_named(loop.iter.func, "zip"):
        targets, values = [e.value for e in loop.target.elements], [arg.value for arg in loop.iter.args]
    for target, value in zip(targets, values, strict=False):
        if type(element) is type(target) is cst.Name and target.value == element.value and type(value) is cst.Name:
            yield value.value


def _is_named(node: cst.BaseExpression, name: str) -> bool:
    return type(node) is cst.Name and node.value == name


def _may_be_of_others(node: cst.Call) -> bool:
    """Whether the method of a tensor is called in a way that other objects have it.

    Strings are split at a string, sets and writers have something added, and loggers log a message.
    """
    if type(node.func) is not cst.Attribute or not node.args:
        return False
    name, argument = node.func.attr.value, node.args[0].value
    text = type(argument) in (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    return name in ("add", "log") or (name == "split" and text)


def _terms(node: cst.BaseExpression | None) -> Iterator[str]:
    """The names in an expression that is a name, or computed of names alone."""
    if type(node) is cst.Name:
        yield node.value
    elif type(node) is cst.BinaryOperation:
        yield from _terms(node.left)
        yield from _terms(node.right)
    elif type(node) is cst.Tuple or type(node) is cst.List:
        for element in node.elements:
            yield from _terms(element.value)


def _sizes(node: cst.Call) -> Iterator[str]:
    """The names in the sizes that a call is given: ``torch.zeros(b, n)``, ``x.view(b * n, -1)``."""
    if type(node.func) is not cst.Attribute:
        return
    of_torch = _is_named(node.func.value, "torch")
    if node.func.attr.value not in (_OF_SIZES if of_torch else _RESHAPING):
        return
    for arg in node.args:
        if arg.keyword is None and not arg.star:
            yield from _terms(arg.value)


def _is_size(node: cst.BaseExpression) -> bool:
    """Whether it is ``x.shape``, ``x.size()``, ``len(x)``, or one of the sizes."""
    if type(node) is cst.Subscript:
        node = node.value
    if type(node) is cst.Call:
        return _is_named(node.func, "len") or (type(node.func) is cst.Attribute and node.func.attr.value == "size")
    return type(node) is cst.Attribute and node.attr.value == "shape"


def _factors(node: cst.Call, sizes: Set[str]) -> Iterator[str]:
    """``ratio`` in ``int(n * (1 - ratio))``, where ``n`` is a size: a part of a size is asked for by a number."""
    if not _is_named(node.func, "int") or len(node.args) != 1:
        return
    product = node.args[0].value
    if type(product) is not cst.BinaryOperation or type(product.operator) is not cst.Multiply:
        return
    left, right = set(_terms(product.left)), set(_terms(product.right))
    if left <= sizes and left:
        yield from right - sizes
    if right <= sizes and right:
        yield from left - sizes


#: Functions of torch all of whose positional arguments are sizes or other numbers.
_OF_SIZES = words("arange zeros ones empty rand randn randperm eye")
#: The same of methods of tensors.
_RESHAPING = words("view reshape expand repeat permute transpose new_zeros new_ones new_empty")


def _arguments(node: cst.Call, tensors: set[str], others: set[str]) -> None:
    """Add the name that a call sorts, or gets first, to ``tensors`` or to ``others``, if it tells which."""
    first = node.args[0].value if node.args and not node.args[0].star else None
    if type(node.func) is cst.Attribute and type(node.func.value) is cst.Name and _sorts_tensor(node):
        tensors.add(node.func.value.value)
    if type(first) is not cst.Name:
        return
    root = node.func
    while type(root) is cst.Attribute:
        root = root.value
    if type(root) is cst.Name and type(node.func) is cst.Attribute:
        if root.value in ("torch", "F"):
            if _takes_tensor(node.func):
                tensors.add(first.value)
        elif root.value == "self" and len(node.args) == 1 and node.func.attr.value in _LAYERS:
            tensors.add(first.value)
    elif type(node.func) is cst.Name and node.func.value in ("range", "str"):
        others.add(first.value)


def _sorts_tensor(node: cst.Call) -> bool:
    """Whether it is ``x.sort(descending=True)``: a list is sorted in reverse."""
    name = node.func.attr.value if type(node.func) is cst.Attribute else ""
    return name == "sort" and any(a.keyword is not None and a.keyword.value == "descending" for a in node.args)


def _takes_tensor(func: cst.Attribute) -> bool:
    """Whether the first argument of ``torch.exp``, ``F.relu`` or ``torch.linalg.norm`` is a tensor."""
    name, package = func.attr.value, func.value
    within = package.attr.value if type(package) is cst.Attribute else ""
    if name[:1].isupper() or within not in _NAMESPACES:
        return False
    return name not in _OTHER_ARGUMENTS


#: Packages of torch whose functions take tensors.
_NAMESPACES = words("functional linalg fft special") | {""}

#: Functions of torch whose first argument is a number, a list, a name, a function or anything.
_OTHER_ARGUMENTS = words(
    """
    arange range zeros ones full empty rand randn randint randperm eye linspace logspace tril_indices triu_indices
    normal empty_strided hann_window hamming_window blackman_window bartlett_window kaiser_window is_tensor tensor
    as_tensor asarray from_numpy frombuffer cat concat stack hstack vstack dstack block_diag meshgrid einsum
    cartesian_prod broadcast_shapes device dtype compile load save manual_seed set_default_dtype set_grad_enabled
    inference_mode no_grad autocast finfo iinfo promote_types can_cast is_storage typename vmap cond atleast_1d
    atleast_2d fftfreq rfftfreq multi_dot
    """
)

#: Names under which layers are kept by custom.
_LAYERS = words(
    """
    fc fc1 fc2 linear lin proj conv conv1 conv2 embedding embed norm layer net model encoder decoder head backbone
    """
)


#: ``x (torch.Tensor): ...``, ``:param Tensor x: ...``, and ``x: 1-D tensor of ...`` with few words before it.
_DESCRIBED = re.compile(
    r"^[ \t]*(?:(?P<typed>\w+)[ \t]*\([ \t]*(?::\w+:)?`?(?:torch\.)?\w*Tensor`?[^()]*\)[ \t]*:"
    r"|:param[ \t]+~?(?:torch\.)?Tensor[ \t]+(?P<field>\w+):"
    r"|(?::(?:param|type)[ \t]+)?(?P<plain>\w+)[ \t]*:[ \t]*(?:[\w-]+[ \t]+){0,3}~?(?:torch\.)?[Tt]ensor\b)",
    re.MULTILINE,
)


#: ``x (bool, optional): ...``, ``x : int``, ``:param float x: ...`` and ``:type x: str``.
_DESCRIBED_AS_NUMBER = re.compile(
    r"^[ \t]*(?:(?P<typed>\w+)[ \t]*\([ \t]*(?:bool|int|float|str)[ \t]*(?:,(?![^()]*[Tt]ensor)[^()]*)?\)[ \t]*:"
    r"|:param[ \t]+(?:bool|int|float|str)[ \t]+(?P<field>\w+):"
    r"|(?::type[ \t]+)?(?P<plain>\w+)[ \t]*:[ \t]*(?:bool|int|float|str)[ \t]*(?:,[ \t]*optional[ \t]*)?$)",
    re.MULTILINE,
)


def described(body: cst.BaseSuite | cst.BaseExpression) -> set[str]:
    """The names that the docstring of a function calls tensors."""
    return _named_in_docstring(body, _DESCRIBED)


def described_as_numbers(body: cst.BaseSuite | cst.BaseExpression) -> set[str]:
    """The names that the docstring of a function calls numbers, flags or texts."""
    return _named_in_docstring(body, _DESCRIBED_AS_NUMBER)


def _named_in_docstring(body: cst.BaseSuite | cst.BaseExpression, form: re.Pattern[str]) -> set[str]:
    first = next(iter(getattr(body, "body", ())), None)
    expression = first.body[0] if type(first) is cst.SimpleStatementLine and first.body else first
    if type(expression) is not cst.Expr or type(expression.value) is not cst.SimpleString:
        return set()
    text = expression.value.evaluated_value
    return {found[found.lastgroup or 0] for found in form.finditer(text if isinstance(text, str) else "")}
