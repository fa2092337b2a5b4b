"""``graphdoctor rules``."""

from __future__ import annotations

import click


@click.command()
def rules() -> None:
    """List all rules.

    One line each: code, name, severity, torch versions, graph-break ids, summary.
    """
    from graphdoctor.report.rules import table
    from graphdoctor.static.catalog import rules as catalog

    click.echo(table(catalog()), nl=False)
