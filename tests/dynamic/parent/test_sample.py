import pytest

from graphdoctor.dynamic.parent.sample import declares_sample


@pytest.mark.parametrize(
    ("text", "convention"),
    [
        ("def graphdoctor_target():\n    return f, ()\n", "graphdoctor_target"),
        ("from targets import graphdoctor_target\n", "graphdoctor_target"),
        ("class Model: pass\ndef get_inputs(): return []\n", "KernelBench"),
        ("class Model: pass\n", None),
        ("def get_inputs(): return []\n", None),
        ("class Net:\n    def __init__(self):\n        self.example_input_array = 1\n", "example_input_array"),
        ("class Net:\n    example_input_array = 1\n", "example_input_array"),
        ("class Net:\n    @property\n    def dummy_inputs(self): return {}\n", "dummy_inputs"),
        ("class Net:\n    def forward(self): return self.example_input_array\n", None),
        ("def helper():\n    def graphdoctor_target(): pass\n", None),
        ("x = 1\n", None),
        ("def broken(:\n", None),
        ("x = '\0'", None),
    ],
)
def test_convention_is_read_from_the_text(text: str, convention: str | None) -> None:
    assert declares_sample(text) == convention


def test_the_first_convention_wins() -> None:
    text = "class Model: pass\ndef get_inputs(): ...\ndef graphdoctor_target(): ...\n"
    assert declares_sample(text) == "graphdoctor_target"
