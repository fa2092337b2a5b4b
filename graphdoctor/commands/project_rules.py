"""The rules that the working folder's settings give, for the commands that show rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.commands.common import OneLine

if TYPE_CHECKING:
    from graphdoctor.ruleset import RuleSet


def project_rules(given: tuple[str, ...], isolated: bool) -> RuleSet:
    """``given`` are the values of ``--config``. Raises OneLine."""
    from graphdoctor import config
    from graphdoctor.options import UsageError
    from graphdoctor.ruleset import ruleset

    try:
        return ruleset(config.load(Path.cwd(), given, isolated))
    except (config.ConfigError, UsageError) as error:
        raise OneLine(str(error)) from None
