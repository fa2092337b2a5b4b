"""``graphdoctor init``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from graphdoctor.commands.problems import CLEAN, OneLine


@click.command()
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--repo", metavar="URL", help="The git repository of graphdoctor.  [default: where pip took it from]")
@click.option("--rev", metavar="REV", help="Its tag or commit.  [default: what pip took, or the tag of this version]")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.pass_context
def init(context: click.Context, folder: Path, repo: str | None, rev: str | None, yes: bool) -> None:
    """Set up a project.

    Shows settings, a pre-commit hook and a GitHub workflow as a diff, asks, and writes them. What is already there is
    left as it is, so that a second time changes nothing.
    """
    from graphdoctor import __version__
    from graphdoctor.init.change import InitError
    from graphdoctor.init.origin import Origin, installed_origin
    from graphdoctor.init.plan import plan, write
    from graphdoctor.report.escaping import visible

    installed = installed_origin()
    origin = Origin(repo, rev or f"v{__version__}") if repo else installed
    if origin is not None and rev is not None:
        origin = Origin(origin.url, rev)
    try:
        planned = plan(folder, origin)
        for kept in planned.kept:
            click.echo(f"graphdoctor: {kept.reason}" + (", to paste:" if kept.paste else ""), err=True)
            click.echo(kept.paste, nl=False, err=True)
        if not planned.changes:
            click.echo("graphdoctor: nothing to write", err=True)
            context.exit(CLEAN)
        for change in planned.changes:
            click.echo(visible(change.diff), nl=False)
        if not yes and not _agreed(len(planned.changes)):
            raise OneLine("nothing was written")
        write(planned)
    except InitError as error:
        raise OneLine(str(error)) from None
    for change in planned.changes:
        click.echo(f"graphdoctor: wrote {change.path}", err=True)


def _agreed(files: int) -> bool:
    """The answer on stdin; the end of the input is a no."""
    click.echo(f"Write {'this file' if files == 1 else f'these {files} files'}? [y/N] ", nl=False, err=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
