"""What is offered for types that are evaluated with type arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
from typing import Annotated, Generic, List, Literal, TypeVar, cast

import torch

T = TypeVar("T")
Batch = dict[str, torch.Tensor]


class Result(Generic[T]):
    def __init__(self, value: T):
        self.value = value


class Net(torch.nn.Module, Generic[T]):
    def forward(self, x, table={{"a": 1}}):
        {body}
        return x + table["a"]


class Whole(Net[int]):
    def __init__(self):
        super().__init__()
        self.names = list[str]()
"""


def found(tmp_path: Path, body: str) -> list[tuple[str, list[str]]]:
    """The safety of each fix, and the texts that it puts in, or the reason why there is none."""
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(body=body))
    fixes = [each.fix for each in analyse([(file, "net.py")]).findings if each.rule == "GD409"]
    return [(fix.safety, [edit.text for edit in fix.edits] or [fix.reason]) for fix in fixes if fix is not None]


NOT_ALONE = "The types of `typing` cannot be called alone: call the builtin or collection they stand for."
NOT_CAST = "The type is a value here, and is not given to `typing.cast`."


@pytest.mark.parametrize(
    ("body", "safety", "texts"),
    [
        ("rows = list[int]()", "safe", ["list"]),
        ("rows = List[int]()", "manual", [NOT_ALONE]),
        ("x = Result[torch.Tensor](x).value", "unsafe", ["Result"]),
        ("x = cast(list[Batch], x)", "safe", ['"list[Batch]"']),
        ("x = cast(\n            list[list[Batch]],\n            x,\n        )", "safe", ['"list[list[Batch]]"']),
        ("x = cast(Result[Literal['a']], x)", "safe", ["\"Result[Literal['a']]\""]),
        ('x = cast(Annotated[torch.Tensor, "rows"], x)', "safe", ["'Annotated[torch.Tensor, \"rows\"]'"]),
        ("kind = Result[int]", "manual", [NOT_CAST]),
        ("self.add(cast(int, 1), Result[int])", "manual", [NOT_CAST]),
    ],
)
def test_types_are_called_alone_or_quoted(tmp_path: Path, body: str, safety: str, texts: list[str]) -> None:
    assert found(tmp_path, body) == [(safety, texts)]


@pytest.mark.parametrize(
    "body",
    [
        "rows: list[Batch] = []",
        "x = cast(list[torch.Tensor], [x])[0]",
        "x = cast(Batch, x)",
        "x = cast('list[Batch]', x)",
        "x = table['a'] * x",
    ],
)
def test_annotations_and_types_that_dynamo_evaluates_are_fine(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == []
