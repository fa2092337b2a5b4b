"""The plain words for the commonest graph breaks."""

from __future__ import annotations

from typing import Any

import pytest

from graphdoctor.breaks import registry
from graphdoctor.breaks.explanations import WORDS, in_plain_words, remedy_of_error
from graphdoctor.breaks.messages import Message


def test_each_id_is_in_the_registry() -> None:
    assert set(WORDS) - set(registry.load()) == set()


def test_words_for_a_text_that_is_made_at_run_time_keep_it() -> None:
    reason, _ = in_plain_words(Message("Tensor device mismatch", "GB5173", "cpu and cuda:0 in add {x}"))
    assert reason == "tensors on different devices are used in one operation: cpu and cuda:0 in add {x}"


def test_general_words_need_no_message() -> None:
    assert WORDS["GB5173"][0].general == "tensors on different devices are used in one operation"
    assert WORDS["GB0156"][0].general == "the method `...` cannot be traced"
    texts = [text for entries in WORDS.values() for words in entries for text in (words.general, words.general_hint)]
    assert all("{" not in text for text in texts)


def test_an_explanation_that_names_nothing_is_about_its_type() -> None:
    gb_type = "Attempted to call op with non-contiguous `out=` tensor"
    for explanation in ("Dynamo does not support this.", "This is not supported.", "Currently not supported"):
        reason, hints = in_plain_words(Message(gb_type, "GB0242", explanation, hints=("Ask for it.",)))
        assert (reason, hints) == (f"{gb_type}, which Dynamo does not support", ("Ask for it.",))


def test_an_iterator_that_is_in_use_at_a_break_is_no_riddle() -> None:
    text = "Dynamo has no bytecode reconstruction implemented for sourceless variable {}."
    reason, _ = in_plain_words(Message("Reconstruction failure", "GB0092", text.format("DictItemsIterator()")))
    assert reason.startswith("a graph ends in the middle of this loop or comprehension")
    reason, _ = in_plain_words(
        Message("Reconstruction failure", "GB0092", text.format("UserDefinedObjectVariable(Box)"))
    )
    assert reason.startswith("a graph ends while `UserDefinedObjectVariable` is in use")


def test_an_iterator_that_a_break_leaves_behind_is_told_from_others() -> None:
    text = "Dynamo does not support next() on {}. Add tp_iternext_impl to this VariableTracker subclass."
    for kind in ("list_iterator", "dict_keyiterator", "str_ascii_iterator"):
        reason, _ = in_plain_words(Message("Missing tp_iternext", "GB4347", text.format(kind)))
        assert reason.startswith("a comprehension is compiled on its own")
    reason, _ = in_plain_words(Message("Missing tp_iternext", "GB4347", text.format("csv.reader")))
    assert reason == "the next item of a `csv.reader` is asked for, which Dynamo does not trace"


def test_a_hint_for_developers_of_torch_becomes_what_a_user_can_do() -> None:
    asks = "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch."
    message = Message("Unsupported special method", "GB9999", "Cannot trace '__truediv__'.", hints=(asks,))
    assert in_plain_words(message)[1][0].startswith("Compute it before")
    both = Message("Unsupported special method", "GB9999", "Cannot trace '__truediv__'.", hints=(asks, "Use floats."))
    assert in_plain_words(both)[1] == ("Use floats.",)


def test_a_tensor_type_called_with_data_of_another_dtype_is_told_from_other_failures() -> None:
    # From torch 2.13: torch.FloatTensor of an array of float64.
    error = "expected TensorOptions(dtype=float, device=cpu) (got TensorOptions(dtype=double, device=cpu))"
    message = Message("RuntimeError when making fake tensor call", "GB4315", f"TypeError('{error}')")
    reason, (hint,) = in_plain_words(message)
    assert reason.startswith("a tensor type such as torch.FloatTensor") and "torch.as_tensor(data" in hint
    reason, _ = in_plain_words(Message(message.gb_type, "GB4315", "RuntimeError('shape')"))
    assert reason == "an operator fails while it is traced without data: RuntimeError('shape')"


def test_an_array_of_a_list_is_told_from_operators_without_a_fake() -> None:
    text = "NotImplementedError('failed to convert [[FakeTensor(..., size=()), FakeTensor(..., size=())]]')"
    reason, hints = in_plain_words(Message("NotImplementedError/UnsupportedFakeTensorException", "GB0087", text))
    assert reason == "an array of a list of numbers that numpy computed is not traced"
    assert "np.arange(n)[:, None]" in hints[0]


def test_the_logger_method_that_can_be_ignored_is_named() -> None:
    context = "method: <Logger package (WARNING)>.warning_once, args: [ConstantVariable(str: 'x, y')], kwargs: {}"
    _, (hint,) = in_plain_words(Message("logging.Logger method", "GB0291", "not supported", context=context))
    assert "ignore_logging_functions.add(logging.Logger.warning_once)`" in hint
    _, (hint,) = in_plain_words(Message("logging.Logger method", "GB0291", "not supported"))
    assert "ignore_logging_functions" not in hint and "{" not in hint


def test_a_text_of_a_size_that_varies_is_told_from_other_calls_of_builtins() -> None:
    """A cache by the text of sizes works until a second size makes them symbolic."""
    text = "Dynamo does not know how to trace builtin operator `{}` with argument types ['{}'] (has_kwargs False)"
    for kind in ("list", "tuple", "Size", "int"):
        reason, hints = in_plain_words(Message("Failed to trace builtin operator", "GB0059", text.format("str", kind)))
        assert reason.startswith("`str` makes a text of a number that is no constant here") and "tuple" in hints[0]
    reason, _ = in_plain_words(Message("Failed to trace builtin operator", "GB0059", text.format("str", "Box")))
    assert reason == "the builtin `str` cannot be traced with these arguments"


def test_a_property_that_is_read_through_super_is_named() -> None:
    context = "call_function args: GetAttrVariable(SuperVariable(), logits) ConstantVariable(int: -1)"
    for gb_id in ("GB0055", "GB4841"):
        reason, (hint,) = in_plain_words(Message("", gb_id, "Missing `as_proxy()` implementation.", context=context))
        assert reason.startswith("`logits` is a property that is read through `super()`")
        assert hint.startswith("Read `self.logits`")


OVERWRITTEN = (
    "Error: accessing {} output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace: [Could not "
    "find stack trace]. To prevent overwriting, clone the tensor outside of torch.compile() or call ..."
)


def test_errors_about_memory_of_a_cuda_graph_say_what_keeps_it() -> None:
    assert remedy_of_error(OVERWRITTEN.format("tensor")).startswith(
        "keep `.clone()` of what the compiled function gives"
    )
    assert remedy_of_error(OVERWRITTEN.format("gradient tensor")).startswith("set the gradients to None")
    assert remedy_of_error("the file has been overwritten by a subsequent run") == ""


def test_a_model_that_asks_for_its_ranks_gets_a_group_of_one() -> None:
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available():
        pytest.skip("torch without torch.distributed")
    with pytest.raises(ValueError) as raised:
        torch.distributed.get_world_size()
    assert "world_size=1" in remedy_of_error(str(raised.value))


@pytest.mark.parametrize("checker", ["@beartype", "@jaxtyped(typechecker=beartype)"])
def test_what_fails_in_a_check_of_types_names_the_checker(checker: str) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {}
    source = "import torch\nfrom beartype import beartype\nfrom jaxtyping import Float, jaxtyped\n"
    exec(f'{source}{checker}\ndef f(x: Float[torch.Tensor, "rows columns"]):\n    return x * 2\n', names)
    names["f"](torch.ones(2, 3))
    with pytest.raises(Exception) as raised:
        torch.compile(names["f"], backend="eager")(torch.ones(2, 3))
    assert remedy_of_error(str(raised.value)).startswith("take the type checker off what is compiled")


def test_what_is_kept_out_of_graphs_is_named_without_its_address() -> None:
    explanation = "Skip inlining function <function _Results.log at 0x7fd8c00277e0> since it was wrapped with `torch.compiler.disable` (reason: None)"
    reason, _ = in_plain_words(Message("Skip inlining `torch.compiler.disable()`d function", "GB0099", explanation))
    assert reason == "`_Results.log` is excluded with torch.compiler.disable"


def test_a_warning_is_told_from_other_builtins() -> None:
    explanation = "Dynamo does not know how to trace the Python builtin `_warnings.warn`."
    message = Message("Attempted to call function marked as skipped", "GB0007", explanation, context="qualname: warn")
    assert in_plain_words(message)[0] == "warnings.warn() is a side effect that cannot be part of a graph"
