"""What pydantic runs when it makes a model."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Truth
from graphdoctor.static.domain.values import Tensor

INPUTS = """
import torch
from pydantic import BaseModel, ConfigDict, field_validator, model_validator


class Inputs(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    times: torch.Tensor
    events: torch.Tensor | None = None

    {validator}


class Net(torch.nn.Module):
    def forward(self, x):
        made = Inputs({passed})
        return made.times
"""
CHECK = """
    def check(cls, value, *others):
        if value.min() < 0:
            raise ValueError("negative")
        return value > 0
"""


@pytest.mark.parametrize(
    ("decorators", "passed", "decided"),
    [
        ("@field_validator('times')\n    @classmethod", "times=x", ["Inputs.check"]),
        ("@field_validator('events', 'times', mode='before')\n    @classmethod", "times=x", ["Inputs.check"]),
        ("@field_validator('*')\n    @classmethod", "times=x", ["Inputs.check"]),
        ("@field_validator('events')\n    @classmethod", "times=x", []),
        ("@field_validator('times', mode='wrap')\n    @classmethod", "times=x", []),
        ("@classmethod", "times=x", []),
    ],
)
def test_the_validators_of_the_fields_that_are_passed_run(events, decorators, passed, decided):
    source = INPUTS.format(validator=decorators + CHECK, passed=passed)
    assert [e.site.function for e in events(source) if isinstance(e, Truth) and isinstance(e.value, Tensor)] == decided


def test_a_field_is_what_its_validator_gives(events):
    validator = "@field_validator('times')\n    @classmethod" + CHECK
    source = INPUTS.format(validator=validator, passed="times=x").replace(
        "return made.times", "return x if made.times[0] else -x"
    )
    found = [e.value.dtype for e in events(source) if isinstance(e, Truth) and e.site.function == "Net.forward"]
    assert found == ["bool"]


@pytest.mark.parametrize(("mode", "decided"), [("after", ["Inputs.check"]), ("before", [])])
def test_so_does_that_of_the_finished_model(events, mode, decided):
    validator = f"@model_validator(mode='{mode}')" + CHECK.replace("cls, value", "self").replace("value", "self.times")
    found = events(INPUTS.format(validator=validator, passed="times=x"))
    assert [e.site.function for e in found if isinstance(e, Truth)] == decided
