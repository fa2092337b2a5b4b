"""What a forward is assumed to be called with."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Convert, Truth
from graphdoctor.static.domain.values import Tensor

NET = """
import torch


class Net(torch.nn.Module):
    def forward(self, batch):
        {statement}
        return batch
"""


def asked(found) -> int:
    return sum(isinstance(e, Truth) for e in found)


@pytest.mark.parametrize(
    "statement",
    [
        "a = 1 if 'extra' in batch else 2",
        "a = batch['mask'] if batch else 2",
        "a = batch[0]['flip'] or 2",
        "a = [each['shape'] == batch[0]['shape'] or 1 for each in batch]",
        "meta = batch['meta']; a = 1 if meta and 'boxes' in meta else 2",
    ],
)
def test_a_batch_with_texts_as_keys_is_no_tensor(events, statement) -> None:
    assert asked(events(NET.format(statement=statement))) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "a = 1 if batch['mask'] > 0 else 2",
        "a = 1 if batch[0] > 0 else 2",
        "meta = batch['meta']; a = 1 if meta['mask'] > 0 else 2",
    ],
)
def test_what_it_holds_is_assumed_to_be_tensors(events, statement) -> None:
    assert asked(events(NET.format(statement=statement))) == 1


@pytest.mark.parametrize(("asked_for", "count"), [("batch.mask[0]", 0), ("batch.shape", 1), ("batch.mT", 1)])
def test_what_is_asked_for_what_no_tensor_has_is_no_tensor(events, asked_for, count) -> None:
    assert asked(events(NET.format(statement=f"a = {asked_for} if batch else None"))) == count


@pytest.mark.parametrize(("default", "count"), [("1.0", 1), ("0.0", 1), ("1", 0), ("2.0", 0)])
def test_a_rate_or_factor_that_does_nothing_may_be_another(events, default, count) -> None:
    found = events(
        f"""
        import torch

        class Net(torch.nn.Module):
            def __init__(self, rate={default}):
                super().__init__()
                self.rate = rate

            def forward(self, x):
                if self.rate == {default}:
                    return x
                return x if x.sum() > 0 else -x
        """
    )
    assert asked(found) == count


@pytest.mark.parametrize(
    ("name", "asked_of"),
    [("global_step", 0), ("current_epoch", 0), ("n_groups", 0), ("use_cache", 0), ("return_all", 0), ("scores", 1)],
)
def test_counts_and_flags_are_numbers(events, name: str, asked_of: int) -> None:
    source = f"""
import torch


class Net(torch.nn.Module):
    def forward(self, x, {name}):
        return x * 2 if {name} > self.limit else x
"""
    assert sum(isinstance(e, Truth) and isinstance(e.value, Tensor) for e in events(source)) == asked_of


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("data: dict", 2),
        ("data: Dict", 2),
        ("data", 2),
        ("x, data: dict", 0),
        ("config: dict", 0),
        ("data: dict[str, int]", 0),
    ],
)
def test_a_batch_that_is_annotated_as_a_dict_holds_tensors(events, parameters: str, found: int) -> None:
    name = "config" if "config" in parameters else "data"
    seen = events(f"""
        from typing import Dict

        import torch

        class Net(torch.nn.Module):
            def forward(self, {parameters}):
                number = {name}["n"]
                if number > 1:
                    return float(number)
                return number
    """)
    assert len([e for e in seen if isinstance(e, (Truth, Convert))]) == found


def test_a_flag_of_a_constructor_may_have_its_other_state(events) -> None:
    seen = events("""
        import torch

        class Net(torch.nn.Module):
            def __init__(self, fast=True, size=1):
                super().__init__()
                self.fast = fast
                self.size = size

            def forward(self, x):
                if not self.fast:
                    return x.item()
                if self.size == 0:
                    return x.tolist()
                return x
    """)
    assert [e.qualname for e in seen if isinstance(e, Call)] == ["torch.Tensor.item"]


@pytest.mark.parametrize(("name", "count"), [("shapes", 0), ("points", 1)])
def test_shapes_are_numbers_by_custom(events, name, count) -> None:
    source = NET.replace("forward(self, batch)", f"forward(self, batch, {name})")
    found = events(source.format(statement=f"width, height = {name}[0][1]; width = int(width)"))
    assert sum(isinstance(e, Convert) and e.to == "int" for e in found) == count


@pytest.mark.parametrize(
    ("parameters", "conversions", "tests"),
    [("options, x", 0, 0), ("x, options", 0, 0), ("options", 1, 1)],
)
def test_beside_a_tensor_what_is_read_for_numbers_alone_is_a_table(events, parameters, conversions, tests) -> None:
    seen = events(f"""
        import torch

        class Net(torch.nn.Module):
            def forward(self, {parameters}):
                x = torch.relu(self.start if {parameters == "options"} else x)
                return x[:: int(options["every"])] if options["shift"] else x
    """)
    assert sum(isinstance(e, Convert) and isinstance(e.value, Tensor) for e in seen) == conversions
    assert sum(isinstance(e, Truth) for e in seen) == tests


@pytest.mark.parametrize(("declared", "tested"), [("bool", 0), ("bool | Tensor", 1)])
def test_what_a_docstring_calls_a_flag_is_no_tensor(events, declared, tested) -> None:
    found = events(f"""
        import torch

        class Loss(torch.nn.Module):
            def _target(self, x, is_real):
                return is_real

            def _loss(self, x, target):
                return -x.mean() if target else x.mean()

            def forward(self, x, is_real):
                '''Compare it.

                Args:
                    x (Tensor): The prediction.
                    is_real ({declared}): What it should be.
                '''
                return self._loss(x, self._target(x, is_real))
    """)
    assert len([e for e in found if isinstance(e, Truth) and isinstance(e.value, Tensor)]) == tested


@pytest.mark.parametrize(("declared", "tested"), [("bool", 0), ("bool | Tensor", 1)])
def test_what_the_docstring_of_a_base_calls_a_flag_is_no_tensor(events, declared, tested) -> None:
    found = events(f"""
        import torch

        class Loss(torch.nn.Module):
            def forward(self, x, is_real):
                '''Compare it.

                Args:
                    is_real ({declared}): What it should be.
                '''
                return x

            def _target(self, x, is_real):
                return is_real

            def _loss(self, x, target):
                return -x.mean() if target else x.mean()

        class ManyLoss(Loss):
            def forward(self, x, is_real):
                return self._loss(x, self._target(x, is_real))
    """)
    assert len([e for e in found if isinstance(e, Truth) and isinstance(e.value, Tensor)]) == tested


@pytest.mark.parametrize(("name", "count"), [("it", 0), ("iter", 0), ("item", 1)])
def test_a_number_of_an_iteration_is_no_tensor(events, name, count) -> None:
    source = f"""
        import torch

        class Loss(torch.nn.Module):
            def forward(self, x, {name}):
                return x if {name} < 10 else x * {name}
    """
    assert asked(events(source)) == count
