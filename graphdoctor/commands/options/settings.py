"""The options that override the settings of a project, for every command that reads them."""

from __future__ import annotations

import click

from graphdoctor.commands.options.group import option_group
from graphdoctor.commands.options.rule_codes import codes
from graphdoctor.scan.options import ProjectOptions, SettingOptions

_PROJECT = {
    "config": click.option(
        "--config", multiple=True, metavar="FILE|KEY=VALUE", help="Settings from this file, or one setting."
    ),
    "isolated": click.option("--isolated", is_flag=True, help="Read no configuration file."),
    "rules": click.option("--rules", multiple=True, metavar="FOLDER", help="Execute the rule files in this folder."),
    "allow_project_rules": click.option(
        "--allow-project-rules",
        is_flag=True,
        help="Also execute the rule files that the project's configuration names.",
    ),
}
_SETTINGS = {
    "select": click.option(
        "--select", multiple=True, callback=codes, metavar="CODES", help="Only these; GD1 is all of GD1xx."
    ),
    "ignore": click.option("--ignore", multiple=True, callback=codes, metavar="CODES", help="Not these rules."),
    "extend_select": click.option(
        "--extend-select", multiple=True, callback=codes, metavar="CODES", help="And these rules."
    ),
    "extend_ignore": click.option(
        "--extend-ignore", multiple=True, callback=codes, metavar="CODES", help="Nor these rules."
    ),
    "per_file_ignores": click.option(
        "--per-file-ignores", multiple=True, metavar="GLOB:CODES", help="Not these rules in these files."
    ),
    "exclude": click.option("--exclude", multiple=True, metavar="GLOB", help="Files and folders to leave out."),
    "extend_exclude": click.option("--extend-exclude", multiple=True, metavar="GLOB", help="And this."),
    "target_torch": click.option(
        "--target-torch",
        metavar="VERSION",
        help="Apply the rules of this version of torch.  [default: the installed one]",
    ),
    "follow": click.option(
        "--follow",
        multiple=True,
        callback=codes,
        metavar="PACKAGE",
        help="Follow calls into this installed package; what is found there does not fail the scan.",
    ),
    "python": click.option(
        "--python", metavar="PATH", help="Where followed packages are: an interpreter or an environment."
    ),
}

#: Which settings are read, and which rules are executed: the argument ``project``.
project_options = option_group("project", ProjectOptions, _PROJECT)

#: These, and one option for each setting that a scan takes: the argument ``settings``.
setting_options = option_group("settings", SettingOptions, {**_SETTINGS, **_PROJECT})
