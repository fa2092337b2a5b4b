"""What ``bench`` and ``advise`` run: one file, and the options that find its target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from graphdoctor.commands.options.device import device_option
from graphdoctor.commands.problems import OneLine

if TYPE_CHECKING:
    from graphdoctor.model.benchmark import Question

_OPTIONS = (
    click.argument("file", type=click.Path(path_type=Path), metavar="FILE"),
    click.option("--target", metavar="NAME", help="The class or function to run."),
    click.option(
        "--input", "inputs", multiple=True, metavar="SPEC", help="A sample argument: [NAME=]DTYPE[SIZES][<HIGH]."
    ),
    device_option,
    click.option("--mode", type=click.Choice(["eval", "train"]), default="eval", show_default=True),
)


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give ``command`` the argument FILE and the options of a target."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def question(file: Path, target: str | None, inputs: tuple[str, ...], device: str, mode: str) -> Question:
    """The request to a worker. Raises OneLine where there is no such file, no torch, or an input cannot be read."""
    from graphdoctor.dynamic.parent.requirements import cannot_run
    from graphdoctor.dynamic.parent.runner import InputSpecError, parse_inputs
    from graphdoctor.model.benchmark import Question
    from graphdoctor.source.called_target import problem

    if not file.is_file():
        raise OneLine(f"{file} is not a file: give one Python file that declares a sample input")
    if reason := cannot_run():
        raise OneLine(reason)
    _check_language(file)
    if target is not None and (wrong := problem(target)):
        raise OneLine(wrong)
    try:
        parse_inputs(inputs)
    except InputSpecError as error:
        raise OneLine(str(error)) from None
    return Question(file, Path.cwd(), target, inputs, device, cast(Literal["eval", "train"], mode))


def _check_language(file: Path) -> None:
    from graphdoctor.source import language
    from graphdoctor.source.errors import SourceError
    from graphdoctor.source.files import text_of

    try:
        language.check(str(file), text_of(file))
    except SourceError as error:
        raise OneLine(f"{file} {error}") from None
