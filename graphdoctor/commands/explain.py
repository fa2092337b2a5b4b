"""``graphdoctor explain``."""

from __future__ import annotations

import click

from graphdoctor.commands.common import OneLine


@click.command()
@click.argument("code")
def explain(code: str) -> None:
    """Explain a rule or a graph break.

    Shows what the rule finds, why it matters, how to fix it, and examples. CODE is the code or the name of a rule, or
    the id that Dynamo gives a graph break, for which the rules that predict it are listed.

    \b
    Examples:
      graphdoctor explain GD101
      graphdoctor explain print-in-graph
      graphdoctor explain GB0059
    """
    from graphdoctor import registry
    from graphdoctor.report.rules import explain as page
    from graphdoctor.static.catalog import rules as catalog

    try:
        click.echo(page(code, catalog(), registry.load()), nl=False)
    except LookupError as error:
        raise OneLine(str(error)) from None
