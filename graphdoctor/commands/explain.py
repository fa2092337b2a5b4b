"""``graphdoctor explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from graphdoctor.commands.options.settings import project_options
from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import OneLine, complain

if TYPE_CHECKING:
    from graphdoctor.scan.options import ProjectOptions


@click.command()
@click.argument("code")
@project_options
def explain(code: str, project: ProjectOptions) -> None:
    """Explain a rule or a graph break.

    Shows what the rule finds, why it matters, how to fix it, and examples. CODE is the code or the name of a rule, or
    the id that Dynamo gives a graph break, for which the rules that predict it are listed. Rules of the project in the
    working folder are explained too where they may be executed.

    \b
    Examples:
      graphdoctor explain GD101
      graphdoctor explain print-in-graph
      graphdoctor explain GB0059
    """
    from graphdoctor.breaks import registry
    from graphdoctor.commands.project_rules import project_rules
    from graphdoctor.report.explain.rules import explain as page

    found = project_rules(project)
    for problem in found.problems:
        complain(problem)
    try:
        emit(page(code, found.rules, registry.load()), None)
    except LookupError as error:
        raise OneLine(str(error)) from None
