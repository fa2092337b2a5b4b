"""The filters of the page of rules, in a real browser."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from graphdoctor.breaks import registry
from graphdoctor.lint.catalog import rules
from graphdoctor.site.pages import one_page


def test_a_choice_in_the_address_is_restored(chromium: str, tmp_path: Path) -> None:
    catalog = rules()
    file = tmp_path / "rules.html"
    file.write_text(one_page(catalog, registry.load()))
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
    ]
    address = f"{file.as_uri()}#?severity=error&text=deepcopy"
    done = subprocess.run([*command, address], capture_output=True, text=True)
    rows = re.findall(r"<tr data-severity=\"\w+\".*?>", done.stdout)
    shown = [row for row in rows if "hidden" not in row]
    matching = [rule for rule in catalog if rule.severity == "error" and "deepcopy" in f"{rule.name} {rule.summary}"]
    assert len(rows) == len(catalog)
    assert len(shown) == len(matching) > 0
    assert f"{len(matching)} of {len(catalog)}" in done.stdout
