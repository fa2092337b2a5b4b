import pytest

from graphdoctor.dynamic.guards import read


@pytest.mark.parametrize(
    ("reason", "kind", "name", "dimension"),
    [
        ("0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5", "size", "x", 0),
        ("0/0: tensor 'L['x']' size mismatch at index 1. expected 4, actual 5", "size", "x", 1),
        ("0/0: tensor 'x' stride mismatch at index 0. expected 8, actual 1", "stride", "x", None),
        ("0/1: tensor 'x' rank mismatch. expected 1, actual 2", "rank", "x", None),
        ("0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0", "requires_grad", "x", None),
        ("0/0: len(xs) == 1      # return x  # model.py:7 in f", "length", "xs", None),
        ("0/0: mask is None      # return x  # model.py:7 in f", "presence", "mask", None),
        (
            "0/0: self.step == 0    # self.step += 1  # a/model.py:18 in forward (HINT: ...)",
            "attribute",
            "self.step",
            None,
        ),
        ("0/0: G['COUNT'] == 0   # COUNT += 1  # model.py:18 in f", "global", "G['COUNT']", None),
        ("0/0: n == 2            # return x[:n]  # model.py:8 in f", "value", "n", None),
        ("0/0: 2 <= x.size()[0]  # x * 2  # model.py:8 in f", "size", "x", 0),
        ("0/0: GLOBAL_STATE changed: grad_mode ", "state", None, None),
        ("0/0: Cache line invalidated because L['x'] got deallocated", "lifetime", None, None),
        ("0/0: ___check_obj_id(x, 1403), type=<class 'torch.Tensor'>", "lifetime", None, None),
        ("0/0: something new", "other", None, None),
    ],
)
def test_reason_is_classified(reason: str, kind: str, name: str | None, dimension: int | None) -> None:
    guard = read(reason)
    assert (guard.kind, guard.name, guard.dimension) == (kind, name, dimension)
    assert guard.words


def test_place_and_words() -> None:
    guard = read(
        "0/0: self.step == 0    # self.step += 1  # a/model.py:18 in forward (HINT: x)\nUser stack trace:\n  ..."
    )
    assert (guard.path, guard.line, guard.text) == ("a/model.py", 18, "self.step == 0")
    assert guard.words == "the attribute self.step is no longer 0"


def test_module_paths_are_readable() -> None:
    guard = read(
        "0/0: tensor 'self._modules['lin']._parameters['bias']' requires_grad mismatch. expected requires_grad=1"
    )
    assert guard.name == "self.lin.bias"
