import pytest

from graphdoctor.breaks.explanations import in_plain_words
from graphdoctor.breaks.messages import one_line, parse

PRINT = """\
Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str']
  Hint: Avoid calling builtin `print`.
  Hint: Please report an issue
    to PyTorch.

  Developer debug context: builtin print [<class 'ConstantVariable'>] False

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"""

LOOP = """

*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop.

  Developer debug context: forward

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb7000.html"""


def test_message_is_taken_apart() -> None:
    message = parse(PRINT)
    assert (message.gb_type, message.gb_id) == ("Failed to trace builtin operator", "GB0059")
    assert message.explanation.startswith("Dynamo does not know how to trace builtin operator `print`")
    assert message.hints == ("Avoid calling builtin `print`.", "Please report an issue to PyTorch.")
    assert message.context.startswith("builtin print")


def test_the_first_part_of_a_chain_is_the_cause() -> None:
    assert parse(PRINT + LOOP) == parse(PRINT)


def test_a_prefix_before_the_type_is_skipped() -> None:
    text = "Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\n" + PRINT
    assert parse(text).gb_type == "Failed to trace builtin operator"


def test_a_plain_text_has_no_type() -> None:
    message = parse("\ncall_function print in skip_files\nmore")
    assert (message.gb_type, message.gb_id, message.explanation) == (None, None, "call_function print in skip_files")


def test_print_is_named_in_plain_words() -> None:
    reason, hints = in_plain_words(parse(PRINT))
    assert reason == "print() is a side effect that cannot be part of a graph"
    assert "is_compiling" in hints[0]


def test_an_unknown_type_keeps_the_words_of_dynamo() -> None:
    message = parse("Some new break\n  Explanation: Because of that.\n  Hint: Do this.\n\n  Developer debug context: x")
    assert in_plain_words(message) == ("Because of that.", ("Do this.",))


def test_one_line_is_cut() -> None:
    assert one_line("\n  first \nsecond") == "first"
    assert len(one_line("x" * 1000)) == 300


def test_the_operator_in_front_of_what_it_raised_is_left_out() -> None:
    # From torch 2.13: torch.FloatTensor of an array of float64.
    operator = "call_function <class 'torch.FloatTensor'>(*(FakeTensor(..., size=(4, 3), dtype=torch.float64),), **{})"
    raised = "TypeError('expected TensorOptions(dtype=float) (got TensorOptions(dtype=double))')"
    head = "RuntimeError when making fake tensor call\n  Explanation: "
    message = parse(f"{head}Dynamo failed to run FX node with fake tensors: {operator}: got {raised}\n")
    assert message.explanation == raised


@pytest.mark.parametrize(
    ("text", "gb_id", "reason"),
    [
        ("Data-dependent jump", "GB0170", "a branch depends on tensor data"),
        (
            "data dependent operator: aten._local_scalar_dense.default; to enable, set torch._dynamo.config.capture...",
            "GB0033",
            "`aten._local_scalar_dense.default` turns tensor data into a Python value",
        ),
        ("builtin: print [<class 'ConstantVariable'>] False", "GB0059", "print() is a side effect"),
        ("Unsupported: builtin: open [<class 'ConstantVariable'>] False", "GB0059", "open() reads the disk"),
        ("Tensor.item", "GB0124", "tensor data becomes a Python number"),
        ("'skip function grad in file torch/autograd/__init__.py'", "GB0007", "`grad` is implemented in C"),
        (
            "Graph break due to unsupported builtin None.Tensor.reshape. This function is either a Python builtin",
            "GB0007",
            "`Tensor.reshape` is implemented in C",
        ),
        ("'inline in skipfiles: Optimizer.zero_grad | inner torch/_compile.py, skipped'", "GB0008", "torch keeps `"),
        ("call_method UserDefinedObjectVariable(TextIOWrapper) write []", "GB0156", "the method `write`"),
        ("A message that nobody knows", None, "A message that nobody knows"),
    ],
)
def test_messages_of_torch_2_6_have_the_ids_of_later_versions(text: str, gb_id: str | None, reason: str) -> None:
    message = parse(text)
    assert (message.gb_type, message.gb_id) == (None, gb_id)
    assert in_plain_words(message)[0].startswith(reason)
