"""What the usage rules claim happens in the installed torch, and what they leave alone does no harm."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.target_torch.specifiers import allows

torch = pytest.importorskip("torch")

RUNNER = Path(__file__).with_name("run_usage.py")

#: What harms no longer, and what it gives since torch 2.14.
MENDED: dict[str, object] = {"gd626_log_in_lightning": ["", ""], "gd628_layers_in_place": [1, 1, 1, 1, 1]}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the claims gave, all of them in one process."""
    pytest.importorskip("accelerate")
    pytest.importorskip("lightning")
    answer = tmp_path_factory.mktemp("usage") / "answer.json"
    command = [sys.executable, str(RUNNER), str(answer)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    result: dict[str, Any] = json.loads(answer.read_text())
    return result


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gd603_accelerator_keeps_what_is_compiled", [False, True]),
        ("gd604_fullgraph_around", ["Unsupported", "", "Unsupported"]),
        ("gd604_fabric_compiles_around", ["Unsupported", "", ""]),
        ("gd604_sharded_parts", ["Unsupported", ""]),
        ("gd605_wrapped_layers", [0, 1, 1]),
        ("gd605_flat_parameters", [0, 1]),
        ("gd606_generate", [0, 1, 0]),
        ("gd606_other_methods", [0, 0, 1]),
        ("gd606_prepared", [0, "_orig_mod.first.weight"]),
        ("gd607_sharded_after_a_call", [1, 2]),
        ("gd607_changed", [2, 1, 2, 1]),
        ("gd608_backends", [4, 1]),
        ("gd612_ignored", ""),
        ("gd615_learning_rate", [2, 1, 1]),
        ("gd616_fullgraph", ["Unsupported", "Unsupported"]),
        ("gd617_keys", ["0._orig_mod.weight", "0.weight"]),
        ("gd618_does_not_load", "RuntimeError"),
        ("gd618_regions", ["blocks.0._orig_mod.layer.weight", "blocks.0.layer.weight", "RuntimeError"]),
        ("gd619_one_process", 1),
        ("gd621_stance", ["RuntimeError", "RuntimeError", ""]),
        ("gd626_log_in_lightning", ["InternalTorchDynamoError", ""]),
        ("gd627_logs", ["ValueError", "", "TypeError", "ValueError", "ValueError"]),
        ("gd628_layers_in_place", [0, 0, 0, 1, 1]),
        ("gd629_fallbacks", ["BackendCompilerFailed", "", ""]),
        ("gd629_raised_at_once", ["InvalidBackend", "RuntimeError", "RuntimeError"]),
        ("gd630_compile_call", 0),
        ("gd631_logs", [True, False]),
        ("gd635_suppressed", ["BackendCompilerFailed", "", "BackendCompilerFailed"]),
        ("gd636_hooks", [1, 0, 1]),
        ("gd637_names", [False, True, True]),
        ("gd701_numbers", [8, 2]),
        ("gd623_first_call", [1, 0]),
        ("gd625_lengths", [8, "FailOnRecompileLimitHit", 2]),
    ],
)
def test_what_a_rule_claims_is_so(done: dict[str, Any], name: str, expected: object) -> None:
    assert done[name] == (MENDED.get(name, expected) if allows(">=2.14", torch.__version__) else expected)


def test_compiled_twice_is_a_function(done: dict[str, Any]) -> None:
    assert "'function' object has no attribute" in done["gd603_twice_has_no_attributes"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fine_autocast_inside", ""),
        ("fine_move_inside", ""),
        ("fine_assert_with_constant_message", ""),
        ("fine_ddp_either_order", [1, 1]),
        ("fine_shard_either_order", [1, 1]),
        ("fine_fabric_either_order", [1, 1]),
        ("fine_compile_in_loop", 1),
        ("fine_shape_padding_is_on", True),
        ("fine_update_alone", [1, 1]),
    ],
)
def test_what_no_rule_reports_does_no_harm(done: dict[str, Any], name: str, expected: object) -> None:
    assert done[name] == expected
