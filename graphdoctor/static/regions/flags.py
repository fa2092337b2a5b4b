"""Names that conditions ask for and nothing else reads, as flags and modes are; counters, tested by ``%``; and items
of mappings."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.syntax.walk import find, walk

_LITERALS = (cst.Integer, cst.Float, cst.SimpleString)
_COMPARES = (cst.Equal, cst.NotEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual)


def only_asked(body: cst.BaseSuite | cst.BaseExpression) -> set[str]:
    """Names in ``body`` that occur in conditions alone: ``if flag``, ``if weight > 0``.

    Modes and flags are used in this way; the values of a tensor are used elsewhere, too.
    """
    asked: list[str] = []
    other: list[str] = []
    no_values: set[int] = set()
    for child in walk(body, stop=(cst.FunctionDef, cst.ClassDef)):
        if type(child) is cst.If or type(child) is cst.IfExp:
            for name in _asked(child.test):
                asked.append(name.value)
                no_values.add(id(name))
        elif type(child) is cst.Attribute:
            no_values.add(id(child.attr))
        elif type(child) is cst.Arg and child.keyword is not None:
            no_values.add(id(child.keyword))
        elif type(child) is cst.Name and id(child) not in no_values:
            other.append(child.value)
    return set(asked) - set(other)


def items_only_asked(body: cst.BaseSuite | cst.BaseExpression) -> set[tuple[str, str]]:
    """The same of items: ``("options", "verbose")`` where ``options["verbose"]`` occurs in conditions alone."""
    asked: set[tuple[str, str]] = set()
    other: set[tuple[str, str]] = set()
    conditions: set[int] = set()
    for child in walk(body, stop=(cst.FunctionDef, cst.ClassDef)):
        if type(child) is cst.If or type(child) is cst.IfExp:
            conditions.update(id(part) for part in _parts(child.test))
        elif type(child) is cst.Subscript and (item := text_item(child)) is not None:
            (asked if id(child) in conditions else other).add(item)
    return asked - other


#: Functions that give a plain value of Python.
_PLAIN = ("int", "float", "bool", "str", "range")


def option_tables(body: cst.BaseSuite | cst.BaseExpression) -> set[str]:
    """Names of mappings that are read for flags and numbers alone: ``if options["shift"]``, ``int(options["every"])``.

    A batch is read for its tensors.
    """
    read: list[str] = []
    plain: list[str] = []
    asked: set[int] = set()
    for child in walk(body, stop=(cst.FunctionDef, cst.ClassDef)):
        if type(child) is cst.If or type(child) is cst.IfExp:
            asked.update(id(part) for part in _parts(child.test))
        elif type(child) is cst.Call and type(child.func) is cst.Name and child.func.value in _PLAIN:
            asked.update(id(arg.value) for arg in child.args)
        elif type(child) is cst.Subscript and id(child) in asked and (item := text_item(child)) is not None:
            plain.append(item[0])
        elif type(child) is cst.Name:
            read.append(child.value)
    return {name for name in plain if plain.count(name) == read.count(name)}


def _parts(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What stands alone in a condition, or is compared with literals."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        yield from _parts(test.expression)
    elif type(test) is cst.BooleanOperation:
        yield from _parts(test.left)
        yield from _parts(test.right)
    elif type(test) is cst.Comparison:
        asked = test.comparisons[0]
        if type(asked.operator) in _COMPARES and type(asked.comparator) in _LITERALS:
            yield test.left
    else:
        yield test


def keyed_items(body: cst.BaseSuite | cst.BaseExpression, mappings: set[str]) -> set[tuple[str, str]]:
    """The items of names that are ``mappings`` themselves: ``("sample", "meta")`` of ``meta = sample["meta"]``."""
    found: set[tuple[str, str]] = set()
    for node in find(body, cst.Assign):
        target, item = node.targets[0].target, text_item(node.value) if type(node.value) is cst.Subscript else None
        if item is not None and type(target) is cst.Name and target.value in mappings:
            found.add(item)
    return found


def text_item(node: cst.Subscript) -> tuple[str, str] | None:
    """``("batch", "mask")`` of ``batch["mask"]``."""
    index = node.slice[0].slice
    key = index.value if type(index) is cst.Index else None
    if type(node.value) is not cst.Name or type(key) is not cst.SimpleString:
        return None
    text = key.evaluated_value
    return (node.value.value, text) if isinstance(text, str) else None


def _asked(test: cst.BaseExpression) -> Iterator[cst.Name]:
    """The names in a condition that stand alone, are compared with literals, or count."""
    for part in _parts(test):
        yield from [part] if type(part) is cst.Name else _counted(part)


def _counted(node: cst.BaseExpression) -> Iterator[cst.Name]:
    """The name in ``(step + 1) % self.every``: a counter."""
    if type(node) is not cst.BinaryOperation or type(node.operator) is not cst.Modulo:
        return
    counter = node.left
    if type(counter) is cst.BinaryOperation and type(counter.right) is cst.Integer:
        counter = counter.left
    if type(counter) is cst.Name:
        yield counter


def counters(test: cst.BaseExpression) -> Iterator[str]:
    """The names in a condition that are tested like a counter: ``if step % every == 0``."""
    if type(test) is cst.BooleanOperation:
        yield from counters(test.left)
        yield from counters(test.right)
    else:
        yield from (name.value for name in _counted(test.left if type(test) is cst.Comparison else test))


def replaced(node: cst.If) -> Iterator[str]:
    """``mems`` in ``if not mems: mems = ...``: None or an empty list, since a tensor of more than one number has no
    truth value.
    """
    test = node.test
    if (
        type(test) is not cst.UnaryOperation
        or type(test.operator) is not cst.Not
        or type(test.expression) is not cst.Name
    ):
        return
    for line in node.body.body:
        small = line.body[0] if type(line) is cst.SimpleStatementLine else None
        target = small.targets[0].target if type(small) is cst.Assign else None
        if type(target) is cst.Name and target.value == test.expression.value:
            yield target.value
