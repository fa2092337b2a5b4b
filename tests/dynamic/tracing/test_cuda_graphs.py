"""What CUDA graphs leave out, read from messages as torch 2.11 gave them on an H100. Nothing here needs a GPU."""

from pathlib import Path

import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing.cuda_graphs import read

PLACES = Places(root="/code", own=("/code",), torch=str(Path(torch.__file__).parent))


def test_a_graph_that_is_skipped_is_placed_at_the_users_line() -> None:
    trace = '  File "/code/model.py", line 13, in forward\n    x.add_(1)\n'
    said = f"skipping cudagraphs due to mutated inputs (1 instances). Found from : \n {trace}"
    (hint,) = read([said, said], PLACES)
    assert (hint.path, hint.line, hint.events) == ("model.py", 13, 2)
    assert hint.text == "the whole graph is left out (mutated inputs (1 instances))"
    assert "copy" in hint.action


def test_an_operator_at_which_a_graph_is_split_has_the_line_of_its_stack() -> None:
    said = [
        "Created 3 graph partitions: 2 cudagraphable, 1 non-cudagraphable",
        "  Partition 1: 1 nodes, non-cudagraphable, inputs=0, outputs=1",
        "    op1: reason=cpu ops, ir=ComputedBuffer, fx=aten.add.Tensor(ones, 1)",
        f'         File "{PLACES.torch}/nn/modules/module.py", line 1, in _call_impl',
        '         File "/code/model.py", line 14, in forward',
        "           return x.add(1)",
        "    op2: reason=nobody knows, ir=ComputedBuffer",
        '         File "/code/model.py", line 15, in forward',
    ]
    (hint,) = read(said, PLACES)
    assert (hint.text, hint.path, hint.line) == ("`aten.add.Tensor` is left out (cpu ops)", "model.py", 14)
    assert "on the GPU" in hint.action


def test_many_sizes_are_counted() -> None:
    said = "CUDAGraph supports dynamic shapes by recording a new graph. We have observed 9 distinct sizes. Please"
    (hint,) = read([said], PLACES)
    assert (hint.text, hint.path) == ("one is recorded for each size (9 distinct sizes)", None)
