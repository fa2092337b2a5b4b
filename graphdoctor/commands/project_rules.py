"""The rules of a project on the command line, and the message about rules that were not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphdoctor.commands.problems import OneLine, complain

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis
    from graphdoctor.scan.options import ProjectOptions
    from graphdoctor.scan.ruleset import RuleSet

#: The formats that show the notes of a scan.
WITH_NOTES = ("text", "json", "markdown", "html", "sarif")


def project_rules(project: ProjectOptions) -> RuleSet:
    """The rules for the project of the working folder. Raises OneLine."""
    from graphdoctor.scan.options import ScanOptions, UsageError, settings_for
    from graphdoctor.scan.ruleset import ruleset

    try:
        return ruleset(settings_for(ScanOptions((".",)).with_groups(project)))
    except UsageError as error:
        raise OneLine(str(error)) from None


def complain_of_rules(diagnosis: Diagnosis) -> None:
    """Write to stderr which rules were not run, for output that does not show the notes of a scan."""
    from graphdoctor.config.permission import NOT_RUN

    for note in diagnosis.notes:
        if note.startswith(NOT_RUN):
            complain(note)
