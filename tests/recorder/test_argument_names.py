"""What the arguments of a wrapper are to the function that it wraps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from graphdoctor.recorder.argument_names import argument_names


def passing(function: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def counting(function: Any) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(0, *args, **kwargs)

    return wrapper


def swapping(function: Any) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args = args[::-1]
        return function(*args, **kwargs)

    return wrapper


def choosing(function: Any, other: Any = max) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (function or other)(*args, **kwargs)

    return wrapper


def of_method(function: Any) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return wrapper


def named(function: Any) -> Callable[..., Any]:
    def wrapper(first: Any, *args: Any, **kwargs: Any) -> Any:
        return function(first, *args, **kwargs)

    return wrapper


class Net(torch.nn.Module):
    def forward(self, images: Any, size: int = 3) -> Any:
        return images * size


def project(points: Any, camera: Any, *, near: float = 0.1) -> Any:
    return points + camera * near


FOUND = {"args[0]": "points", "args[1]": "camera"}
KEYWORDS = {"kwargs['points']": "points", "kwargs['camera']": "camera", "kwargs['near']": "near"}


@pytest.mark.parametrize(
    ("wrapper", "names"),
    [
        (passing(project), {**FOUND, **KEYWORDS}),
        (passing(passing(project)), {**FOUND, **KEYWORDS}),
        (
            passing(Net()),
            {
                "args[0]": "images",
                "args[1]": "size",
                "kwargs['images']": "images",
                "kwargs['size']": "size",
                "function": "Net",
            },
        ),
        (passing(Net.forward), {"args[0]": "self", "args[1]": "images", "args[2]": "size"}),
    ],
)
def test_the_names_of_what_is_wrapped(wrapper: Callable[..., Any], names: dict[str, str]) -> None:
    found = argument_names(*_frame(wrapper))
    assert found is not None
    assert {name: found[0].get(name) for name in names} == names


@pytest.mark.parametrize("decorator", [counting, swapping, choosing, named])
def test_a_wrapper_that_calls_otherwise_has_no_names(decorator: Callable[..., Any]) -> None:
    assert argument_names(*_frame(decorator(project))) is None


def test_a_wrapper_that_names_self() -> None:
    found = argument_names(*_frame(of_method(Net.forward)))
    assert found is None or found[0]["args[0]"] == "images"


def test_the_place_is_that_of_the_innermost_function() -> None:
    found = argument_names(*_frame(passing(passing(project))))
    assert found is not None and found[1] == (__file__, project.__code__.co_firstlineno, "project")


def test_modules_are_told_apart_and_methods_that_are_bound_anew_are_not() -> None:
    first, second = Net(), Net()
    found = [argument_names(*_frame(passing(each))) for each in (first, second, first.forward, first.forward)]
    identities = [each[2] for each in found if each is not None]
    assert identities[0] != identities[1]
    assert identities[2] == identities[3]


def test_decorated_methods_of_one_object_are_told_apart() -> None:
    """The code of what a decorator makes is the same for each: ``@torch.no_grad()`` on two methods of an environment."""

    class Env:
        @torch.no_grad()
        def observe(self) -> torch.Tensor:
            return torch.ones(3)

        @torch.no_grad()
        def reward(self, observed: torch.Tensor) -> torch.Tensor:
            return observed.sum()

    env = Env()
    found = [argument_names(*_frame(passing(each))) for each in (env.observe, env.reward, env.reward)]
    identities = [each[2] for each in found if each is not None]
    assert identities[0] != identities[1]
    assert identities[1] == identities[2]


def _frame(wrapper: Any) -> tuple[Any, dict[str, Any]]:
    cells = zip(wrapper.__code__.co_freevars, wrapper.__closure__, strict=True)
    return wrapper.__code__, {name: cell.cell_contents for name, cell in cells}
