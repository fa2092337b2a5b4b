"""What the recorder changes in Dynamo."""

from __future__ import annotations

import dis
import sys
from typing import Any

import pytest
from torch._dynamo import bytecode_transformation

from graphdoctor.recorder import torch_hooks


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the writer is for Python 3.11 and newer")
def test_an_instruction_of_many_units_goes_down_its_lines_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamo: Any = bytecode_transformation
    monkeypatch.setattr(dynamo, "linetable_311_writer", dynamo.linetable_311_writer)
    torch_hooks.keep_lines()
    table, write = dynamo.linetable_311_writer(1)
    write(dis.Positions(3, 3, 0, 1), 11)
    code = torch_hooks.keep_lines.__code__.replace(co_firstlineno=1, co_linetable=bytes(table))
    assert {line for _, _, line in code.co_lines()} == {3}
