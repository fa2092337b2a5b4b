"""The rules that are asked in the working folder, for the commands that show rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphdoctor.commands.common import OneLine

if TYPE_CHECKING:
    from graphdoctor.ruleset import RuleSet


def project_rules(**given: Any) -> RuleSet:
    """``given`` are the values of ``project_options``. Raises OneLine."""
    from graphdoctor.options import ScanOptions, UsageError, settings_for
    from graphdoctor.ruleset import ruleset

    try:
        return ruleset(settings_for(ScanOptions((".",), **given)))
    except UsageError as error:
        raise OneLine(str(error)) from None
