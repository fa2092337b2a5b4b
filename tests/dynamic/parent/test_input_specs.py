import subprocess
import sys

import pytest

from graphdoctor.dynamic.parent.input_specs import Argument, InputSpecError, TensorSpec, parse_inputs


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("float32[8,3,224,224]", Argument(None, TensorSpec("float32", (8, 3, 224, 224)))),
        ("input_ids=int64[2,16]<1000", Argument("input_ids", TensorSpec("int64", (2, 16), 1000))),
        ("bool[4]", Argument(None, TensorSpec("bool", (4,)))),
        ("float32[]", Argument(None, TensorSpec("float32", ()))),
        (" mask = bool[ 2 , 3 ] ", Argument("mask", TensorSpec("bool", (2, 3)))),
        ("3", Argument(None, 3)),
        ("-2", Argument(None, -2)),
        ("0.5", Argument(None, 0.5)),
        ("1e-3", Argument(None, 0.001)),
        ("true", Argument(None, True)),
        ("use_cache=False", Argument("use_cache", False)),
        ("none", Argument(None, None)),
    ],
)
def test_spec_is_read(spec: str, expected: Argument) -> None:
    assert parse_inputs((spec,)) == (expected,)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("float33[2]", "float33"),
        ("float32[2,x]", "'x'"),
        ("float32[-1]", "'-1'"),
        ("float32[2]<5", "bound"),
        ("int64[2]<0", "bound"),
        ("int64[2]<many", "bound"),
        ("hello", "neither"),
        ("", "neither"),
        ("float32[2", "neither"),
    ],
)
def test_bad_spec_is_one_clear_line(spec: str, word: str) -> None:
    with pytest.raises(InputSpecError) as caught:
        parse_inputs((spec,))
    text = str(caught.value)
    assert word in text
    assert repr(spec) in text
    assert "\n" not in text


def test_names_are_unique_and_last() -> None:
    with pytest.raises(InputSpecError, match="positional"):
        parse_inputs(("x=3", "4"))
    with pytest.raises(InputSpecError, match="twice"):
        parse_inputs(("x=3", "x=4"))


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(InputSpecError, ValueError)


def test_parent_side_imports_no_torch() -> None:
    code = "import sys, graphdoctor.dynamic.parent.runner; sys.exit('torch' in sys.modules or 'libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
