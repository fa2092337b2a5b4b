"""``graphdoctor rules``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from graphdoctor.commands.options.settings import project_options
from graphdoctor.commands.printing import emit
from graphdoctor.commands.problems import check_writable, complain

if TYPE_CHECKING:
    from graphdoctor.scan.options import ProjectOptions


@click.command()
@click.option("--output-format", type=click.Choice(["text", "json", "html"]), default="text", show_default=True)
@click.option("--output", metavar="FILE", help="Write there instead of to stdout.")
@project_options
def rules(output_format: str, output: str | None, project: ProjectOptions) -> None:
    """List all rules.

    As text one line each: code, name, severity, torch versions, graph-break ids, summary. JSON and HTML (one file) have
    all that a rule's file says, with its examples. Rules of the project in the working folder are listed too where they
    may be executed.
    """
    check_writable(output)
    from graphdoctor.breaks import registry
    from graphdoctor.commands.project_rules import project_rules

    found = project_rules(project)
    if output_format == "json":
        from graphdoctor.site import rules_json

        emit(rules_json.render(found.rules), output)
    elif output_format == "html":
        from graphdoctor.site import pages

        emit(pages.one_page(found.rules, registry.load()), output)
    else:
        from graphdoctor.report.explain.rules import table

        emit(table(found.rules), output)
    for problem in found.problems:
        complain(problem)
