"""Which fixes are written or shown: what options ask for together, and asking at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from graphdoctor.commands.problems import OneLine

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding
    from graphdoctor.report.text.progress import Progress
    from graphdoctor.scan.session import Choose

interactive_option = click.option(
    "-i", "--interactive", is_flag=True, help="Ask before each fix: yes, no, all, diff, quit."
)


def check_fixes(fix: bool, unsafe_fixes: bool, show_diff: bool, no_source: bool) -> None:
    """Raises OneLine where options about fixes contradict each other."""
    if fix and show_diff:
        raise OneLine("--fix writes the fixes and --diff only shows them: use one of the two")
    if unsafe_fixes and not (fix or show_diff):
        raise OneLine("--unsafe-fixes adds to what --fix writes and --diff shows, and neither is there")
    if no_source and show_diff:
        raise OneLine("--diff shows source lines and --no-source forbids them: use one of the two")


def check_interactive(interactive: bool, show_diff: bool) -> None:
    """Raises OneLine where ``-i`` has nothing to ask about, or nobody."""
    if interactive and show_diff:
        raise OneLine("-i asks what to write and --diff writes nothing: use one of the two")
    if interactive and not sys.stdin.isatty():
        raise OneLine(
            "-i asks at a terminal, and the standard input is none: leave -i out, or see the fixes with --diff"
        )


def asking(progress: Progress) -> Choose:
    """What asks the user about each fix, while ``progress`` shows nothing."""
    from graphdoctor.fixes.verification.interactive import choose
    from graphdoctor.report.escaping import visible

    def ask(question: str) -> str:
        try:
            return input(question)
        except EOFError:
            return "q"

    def choose_at_the_terminal(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        progress.pause()
        return choose(findings, ask, lambda text: click.echo(visible(text)))

    return choose_at_the_terminal
