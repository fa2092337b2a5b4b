"""Breaks that only a run shows, in torch's own Python code."""

from __future__ import annotations

from typing import Any

import pytest

from graphdoctor.diagnosis.join import join, rule_texts
from graphdoctor.lint import catalog

TORCH = "/env/lib/python3.11/site-packages/torch"
RULES = rule_texts(catalog.rules())


def found(build: Any, path: str, function: str) -> tuple[str, str, str]:
    """The rule, the message and the advice for a break at a line that calls ``function``."""
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame(path, 27, function))
    (finding,) = join([], [build.run(build.brk(5, 5, "GB0124", stack=stack, hints=("keep it",)))], RULES)
    return finding.rule, finding.message, finding.suggestion


def test_the_rule_that_knows_the_function_of_torch_explains_it(build: Any) -> None:
    rule, message, advice = found(build, f"{TORCH}/nn/modules/transformer.py", "_detect_is_causal_mask")
    assert rule == "GD218" and "is_causal" in advice
    assert message == "why, in `_detect_is_causal_mask` of torch (torch/nn/modules/transformer.py:27)"


@pytest.mark.parametrize(("function", "rules"), [("_detect_is_causal_mask", ["GD218"]), ("warn", ["GD218", "GD000"])])
def test_a_finding_about_a_function_of_torch_explains_no_break_in_another(
    build: Any, function: str, rules: list[str]
) -> None:
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame(f"{TORCH}/nn/functional.py", 27, function))
    expected = build.finding(rule="GD218", gb_ids=("GB0124",))
    joined = join([expected], [build.run(build.brk(5, 5, "GB0124", stack=stack))], RULES)
    assert [finding.rule for finding in joined] == rules
    assert (joined[0].status == "confirmed") is (len(rules) == 1)


def test_a_warning_of_torch_is_to_be_heeded(build: Any) -> None:
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame(f"{TORCH}/nn/functional.py", 27, "_canonical_mask"))
    brk = build.brk(5, 5, "GB0007", stack=stack, hints=("keep it",), reason="warnings.warn() is a side effect")
    (finding,) = join([], [build.run(brk)], RULES)
    assert finding.suggestion.startswith("Change what torch warns about there")


def test_other_functions_of_torch_are_named(build: Any) -> None:
    rule, message, advice = found(build, f"{TORCH}/utils/hooks.py", "unserializable_hook")
    assert (rule, advice) == ("GD000", "keep it")
    assert message == "why, in `unserializable_hook` of torch (torch/utils/hooks.py:27)"


@pytest.mark.parametrize(
    "path",
    [f"{TORCH}/_dynamo/polyfills/__init__.py", "torch/nets.py", "/env/lib/python3.11/site-packages/torchvision/a.py"],
)
def test_what_the_user_did_not_call_is_not_named(build: Any, path: str) -> None:
    assert found(build, path, "_detect_is_causal_mask") == ("GD000", "why", "keep it")
