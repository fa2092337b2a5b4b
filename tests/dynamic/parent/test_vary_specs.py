import pytest

from graphdoctor.dynamic.parent.input_specs import InputSpecError
from graphdoctor.dynamic.parent.vary_specs import Variation, parse_variations


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("x:0=4,5,7", Variation("size", "x", (4, 5, 7), "x:0=4,5,7", 0)),
        ("0:-1=4,5", Variation("size", "0", (4, 5), "0:-1=4,5", -1)),
        (" x : 1 = 4 , 5 ", Variation("size", "x", (4, 5), "x : 1 = 4 , 5", 1)),
        ("batch=4,5", Variation("axis", "batch", (4, 5), "batch=4,5")),
        ("seq=16,17", Variation("axis", "seq", (16, 17), "seq=16,17")),
        ("x=float32,float16", Variation("dtype", "x", ("float32", "float16"), "x=float32,float16")),
        ("scale=1,0.5", Variation("value", "scale", (1, 0.5), "scale=1,0.5")),
        ("mode=train,eval", Variation("mode", "mode", ("train", "eval"), "mode=train,eval")),
        ("grad=on,off", Variation("grad", "grad", ("on", "off"), "grad=on,off")),
    ],
)
def test_spec_is_read(spec: str, expected: Variation) -> None:
    assert parse_variations((spec,)) == (expected,)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("x", "NAME"),
        ("", "NAME"),
        ("x:0=4,", "missing"),
        ("x:0=4.5", "whole"),
        ("x:0=-1", "whole"),
        ("mode=test", "train, eval"),
        ("grad=maybe", "on, off"),
        ("x=float33", "float33"),
        ("x=float32,3", "float32"),
    ],
)
def test_bad_spec_is_one_clear_line(spec: str, word: str) -> None:
    with pytest.raises(InputSpecError) as caught:
        parse_variations((spec,))
    text = str(caught.value)
    assert text.startswith("--vary ")
    assert word in text
    assert repr(spec) in text
    assert "\n" not in text
