"""The HTML report in a real browser, with the network off."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from graphdoctor.model import Diagnosis
from graphdoctor.report import html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def browse(file: Path, fragment: str = "", *flags: str) -> str:
    """The document as the browser has it after its scripts ran."""
    command = [str(CHROMIUM), *_FLAGS, *flags, f"--user-data-dir={file.parent / 'profile'}", "--dump-dom"]
    done = subprocess.run([*command, file.as_uri() + fragment], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def requests(log: Path) -> list[str]:
    """The URLs that the page asked for. The browser's own requests (updates, clock) have no origin."""
    data = json.loads(log.read_text())
    start = data["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    begun = [event["params"] for event in data["events"] if event["type"] == start and "params" in event]
    return [params["url"] for params in begun if "url" in params and params["initiator"] != "not an origin"]


def shown_rules(dom: str) -> list[str]:
    """The rules of the findings that are not filtered out."""
    rows = re.findall(r'<details class="finding"[^>]*>', dom)
    return [re.findall(r'data-rule="(\w+)"', row)[0] for row in rows if "hidden" not in row]


@pytest.fixture
def file(rich: Diagnosis, tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(html.render(rich), encoding="utf-8")
    return path


def test_no_request_leaves(hostile: Diagnosis, file: Path, tmp_path: Path) -> None:
    file.write_text(html.render(hostile), encoding="utf-8")
    log = tmp_path / "net.json"
    dom = browse(file, "", f"--log-net-log={log}")
    assert requests(log) == []
    # Scripts ran under the policy (one wrote the count), and those in the data did not.
    assert re.search(r'id="count" role="status">6 shown<', dom)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in dom


def test_a_request_would_be_seen(tmp_path: Path) -> None:
    file, log = tmp_path / "probe.html", tmp_path / "net.json"
    file.write_text('<img src="https://probe.invalid/x.png">')
    browse(file, "", f"--log-net-log={log}")
    assert requests(log) == ["https://probe.invalid/x.png"]


def test_filters_come_from_the_hash(file: Path) -> None:
    assert shown_rules(browse(file)) == ["GD101", "GD110", "GD120", "GD102", "GD000", "GD201"]
    dom = browse(file, "#severity=warning&status=refuted&q=item")
    assert shown_rules(dom) == ["GD120"]
    assert re.search(r'id="count" role="status">1 of 6 shown<', dom)
    assert len(re.findall(r'class="chip"[^>]*aria-pressed="true"', dom)) == 2


def test_an_anchor_opens_its_finding(file: Path) -> None:
    rows = re.findall(r'<details class="finding"[^>]*>', browse(file, "#finding-2"))
    assert [' open=""' in row for row in rows] == [False, True, False, False, False, False]


def test_chips_search_theme_and_open_all_by_script(file: Path) -> None:
    # The policy forbids foreign scripts, so the driver needs a copy without it.
    driver = """<script>{
    document.querySelector('[data-value="error"]').click();
    document.getElementById("expand").click();
    document.getElementById("theme").click();
    const search = document.getElementById("search");
    dispatchEvent(new KeyboardEvent("keydown", {key: "/"}));
    document.body.dataset.focus = document.activeElement.id;
    search.value = "stdout";
    search.dispatchEvent(new Event("input"));
    document.body.dataset.hash = location.hash;
    }</script></body>"""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", file.read_text(encoding="utf-8"))
    file.write_text(page.replace("</body>", driver), encoding="utf-8")
    dom = browse(file)
    assert shown_rules(dom) == ["GD101", "GD110", "GD000"]
    assert 'data-hash="#severity=error&amp;q=stdout"' in dom
    assert 'data-focus="search"' in dom
    assert re.search(r'<html[^>]* data-theme="dark"', dom)
    assert all(' open=""' in row for row in re.findall(r'<details class="finding"[^>]*>', dom))


def test_the_policy_stops_foreign_scripts(file: Path) -> None:
    page = file.read_text(encoding="utf-8").replace("</body>", "<script>document.title = 'owned'</script></body>")
    file.write_text(page, encoding="utf-8")
    assert "<title>owned" not in browse(file)
