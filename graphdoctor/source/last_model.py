"""The last model of a file that offers no sample, as an example of what can be run."""

from __future__ import annotations

import ast


def last_model(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The last class with a ``forward`` method in a file with this ``text``; None where there is none.

    It is given as a call with what its constructor needs, and what its forward needs: ``("Net(depth)", ("ids",))``.
    """
    try:
        classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    methods = [(node.name, {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}) for node in classes]
    # The forward of an autograd.Function is a static method.
    models = [(name, own) for name, own in methods if "forward" in own and not own["forward"].decorator_list]
    if not models:
        return None
    name, own = models[-1]
    made_with = _needed(own["__init__"]) if "__init__" in own else ()
    return f"{name}({', '.join(made_with)})" if made_with else name, _needed(own["forward"])


def _needed(method: ast.FunctionDef) -> tuple[str, ...]:
    """The parameters of a method that have no default."""
    plain = [*method.args.posonlyargs, *method.args.args][1:]
    given = len(plain) - min(len(method.args.defaults), len(plain))
    keywords = zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True)
    return (*(a.arg for a in plain[:given]), *(f"{a.arg}={a.arg}" for a, default in keywords if default is None))
