"""What a class says of the attributes of its objects: by annotations in its body and of its constructor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.syntax.walk import find

Declared = Iterator[tuple[str, cst.BaseExpression]]


def tensors(node: cst.ClassDef, constructor: tuple[cst.CSTNode, cst.CSTNode] | None) -> Declared:
    """The attributes that ``node`` declares to be tensors, each with its annotation. ``constructor``: with its body."""
    found = list(_fields(node))
    if constructor is not None and isinstance(constructor[0], cst.FunctionDef):
        found += _stored(constructor[0], constructor[1])
    for name, annotation in found:
        if any(part.value.endswith("Tensor") for part in find(annotation, cst.Name)):
            yield name, annotation


def _fields(node: cst.ClassDef) -> Declared:
    """The annotated names in the body of a class, each with its annotation."""
    for statement in node.body.body:
        for small in statement.body if type(statement) is cst.SimpleStatementLine else ():
            if type(small) is cst.AnnAssign and type(small.target) is cst.Name:
                yield small.target.value, small.annotation.annotation


def _stored(constructor: cst.FunctionDef, body: cst.CSTNode) -> Declared:
    """The attributes that a constructor sets to one of its parameters, ``self.scores = scores``, with the annotation of
    the parameter, where nothing else is assigned to either.
    """
    params = (*constructor.params.posonly_params, *constructor.params.params, *constructor.params.kwonly_params)
    annotations = {p.name.value: p.annotation.annotation for p in params if p.annotation is not None}
    assigned = [(target.target, node.value) for node in find(body, cst.Assign) for target in node.targets]
    attributes = [target.attr.value for target, _ in assigned if type(target) is cst.Attribute]
    rebound = {target.value for target, _ in assigned if type(target) is cst.Name}
    for target, value in assigned:
        if type(target) is cst.Attribute and type(value) is cst.Name and type(target.value) is cst.Name:
            is_own = target.value.value == params[0].name.value if params else False
            once = attributes.count(target.attr.value) == 1 and value.value not in rebound
            if is_own and once and value.value in annotations:
                yield target.attr.value, annotations[value.value]
