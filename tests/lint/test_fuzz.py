"""Generated programs: whatever Python's grammar allows, the static pass reads without an internal error."""

from __future__ import annotations

import ast
import textwrap
import warnings

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis.strategies import SearchStrategy, deferred

from graphdoctor.lint.engine import analyse

#: Bounded in number and, with a fixed seed and no shrinking, in time.
LIMITED = settings(
    max_examples=40,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def from_node() -> SearchStrategy[str]:
    import hypothesmith

    return hypothesmith.from_node()


def from_grammar() -> SearchStrategy[str]:
    """Making it builds a parser, which takes seconds, also where no test of this file runs."""
    import hypothesmith

    return hypothesmith.from_grammar()


def in_forward(program: str) -> str:
    """``program`` as the body of a module's forward, so that the interpreter walks it."""
    body = textwrap.indent(program, " " * 8)
    return (
        f"import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x, mask=None):\n{body}\n        return x\n"
    )


def is_python(text: str) -> bool:
    """False where moving a program into a function made it invalid (``from m import *``, strings over lines)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "generated", "exec", ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Analyse a text and fail on an internal error."""
    file = tmp_path_factory.mktemp("fuzz") / "generated.py"

    def run(text: str) -> None:
        assume(is_python(text))
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        reason = analyse([(file, "generated.py")]).files[0].reason
        assert reason is None or ("failed here" not in reason and "internal error" not in reason), f"{reason}\n{text}"

    return run


@seed(2026)
@LIMITED
@given(program=deferred(from_node))
def test_generated_trees(check, program):
    check(f"import torch\n{program}")
    check(in_forward(program))


@seed(2026)
@LIMITED
@given(program=deferred(from_grammar))
def test_generated_text(check, program):
    check(in_forward(program))
