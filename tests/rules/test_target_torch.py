"""Findings follow the version of torch that is scanned for: what does not break there is not reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphdoctor.rules._numpy_functions import WITHOUT_TENSORS

from benchmarks.rule_versions.examples import examples, holds_on, rules
from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse
from graphdoctor.target_torch.specifiers import allows

#: Examples that are one graph with ``fullgraph=True`` on a version, by ``benchmarks.rule_versions``.
WHOLE = {
    "2.9.0": {
        "autograd_in_graph_breaks_13", "check_helper_breaks_2", "collectives_breaks_3", "reassigned_buffer_breaks_0",
        "reassigned_buffer_breaks_1", "text_of_tensor_breaks_12", "tolist_call_breaks_1", "tolist_call_breaks_2",
        "untraceable_call_breaks_16", "untraceable_call_breaks_26",
    },
    "2.11.0": {
        "autograd_in_graph_breaks_13", "collectives_breaks_3", "text_of_tensor_breaks_12", "untraceable_call_breaks_16",
    },
    "2.13.0": set[str](),
    "2.14.1": {
        "attribute_counter_again_breaks_4", "check_helper_breaks_2", "device_query_breaks_2", "introspection_breaks_5",
        "sparse_or_storage_breaks_8", "unsupported_context_breaks_10", "untraceable_call_breaks_10",
    },
    "2.15.0": {
        "attribute_counter_again_breaks_4", "check_helper_breaks_2", "device_query_breaks_2", "introspection_breaks_5",
        "size_taken_for_data_breaks_2", "sparse_or_storage_breaks_8", "tensor_assert_breaks_5",
        "unsupported_context_breaks_10", "untraceable_call_breaks_10", "untraceable_call_breaks_22",
    },
}  # fmt: skip


@pytest.mark.parametrize("version", WHOLE)
def test_what_does_not_break_on_a_version_is_not_reported_for_it(tmp_path: Path, version: str) -> None:
    active = catalog.holding(catalog.rules(), version)
    silent = set()
    for rule in rules():
        for name, source in examples(rule).items():
            if "_breaks_" in name and "# torch " in source:
                file = tmp_path / f"{name}.py"
                file.write_text(source)
                if not analyse([(file, file.name)], active).findings:
                    silent.add(name)
                    assert not allows(holds_on(rule, source), version)
    assert silent == WHOLE[version]


def test_functions_of_numpy_that_are_not_traced_are_those_that_torch_has_not() -> None:
    import torch._numpy

    assert {name for name in WITHOUT_TENSORS if hasattr(torch._numpy, name.partition(".")[2])} == set()


@pytest.mark.parametrize(
    ("call", "version", "breaks"),
    [
        ("torch.cuda.manual_seed(0)", "2.11.0", False),
        ("torch.cuda.manual_seed(0)", "2.13.0", True),
        ("torch.cuda.seed_all()", "2.13.0", False),
        ("torch.cuda.synchronize()", "2.6.0", False),
        ("torch.cuda.synchronize()", "2.11.0", True),
        ("torch.cuda.synchronize()", "2.13.0", False),
    ],
)
def test_calls_for_a_gpu_that_only_some_versions_trace(tmp_path: Path, call: str, version: str, breaks: bool) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"import torch\n\n\n@torch.compile\ndef f(x):\n    {call}\n    return x * 2\n")
    active = catalog.holding(catalog.rules(), version)
    assert bool(analyse([(file, file.name)], active).findings) is breaks
