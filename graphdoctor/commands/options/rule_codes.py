"""Options that take the codes of rules."""

from __future__ import annotations

import click


def codes(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The callback of options that take rule codes: ``("GD101,GD2", "GD3")`` is ``("GD101", "GD2", "GD3")``."""
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())
