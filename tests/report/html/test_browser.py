"""The HTML report in a real browser, with the network off: one browser for the whole module."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from graphdoctor.model.findings import Diagnosis, Summary
from graphdoctor.model.fleet import Fleet, Result, Row
from graphdoctor.model.submodules import ModuleNode
from graphdoctor.report.html import fleet
from graphdoctor.report.html import page as html

_RESOLVER = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", _RESOLVER)


class Tab:
    """A page in the browser: what it asked for, and what its console said."""

    def __init__(self, context: BrowserContext) -> None:
        self.page = context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def shown(self) -> list[str | None]:
        """The rules of the findings that are not filtered out."""
        found = self.page.locator(".finding:visible").evaluate_all("rows => rows.map((row) => row.dataset.rule)")
        return list(found)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def heights(self, selector: str) -> list[float]:
        """The heights of the boxes of the elements, 0 for those that have none."""
        boxes = [found.bounding_box() for found in self.page.locator(selector).all()]
        return [box["height"] if box else 0 for box in boxes]

    @property
    def focus(self) -> str:
        """The text of the element that has the focus, or its id."""
        return str(self.page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """Opens a text as a page; each has a context, and so a storage, of its own."""
    contexts = []

    def open_(text: str, fragment: str = "", **settings: Any) -> Tab:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        contexts.append(browser.new_context(offline=True, **settings))
        tab = Tab(contexts[-1])
        tab.page.goto(file.as_uri() + fragment)
        return tab

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def page(compared: Diagnosis) -> str:
    return html.render(compared)


def test_one_file_no_request_no_error(opened: Callable[..., Tab], hostile: Diagnosis) -> None:
    tab = opened(html.render(hostile))
    assert len(tab.requests) == 1
    assert tab.requests[0].startswith("file:")
    assert tab.errors == []
    # Scripts ran under the policy (one wrote the count), and those in the data did not.
    assert tab.page.locator("#count").inner_text() == "6 shown"
    assert tab.page.locator("h1").inner_text().startswith("<script>alert(1)</script> </script> </style>")


def test_a_request_and_an_error_would_be_seen(opened: Callable[..., Tab]) -> None:
    tab = opened('<img src="https://probe.invalid/x.png"><script>throw Error("seen")</script>')
    assert tab.requests[1:] == ["https://probe.invalid/x.png"]
    assert "seen" in tab.errors


@pytest.mark.parametrize(("theme", "width"), [("light", 1100), ("dark", 390)])
def test_axe_finds_nothing_serious(opened: Callable[..., Tab], page: str, theme: str, width: int) -> None:
    tab = opened(page, color_scheme=theme, viewport={"width": width, "height": 900}, bypass_csp=True)
    tab.page.locator("#expand").click()
    tab.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    found = Axe().run(tab.page).response
    assert len(found["passes"]) > 20
    assert [
        (v["id"], v["nodes"][0]["html"]) for v in found["violations"] if v["impact"] in ("serious", "critical")
    ] == []


def test_axe_would_find_something(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page.replace("--soft: light-dark(#58616c,", "--soft: light-dark(#b8b8b8,"), bypass_csp=True)
    only = {"runOnly": ["color-contrast"]}
    assert "color-contrast" in [
        violation["id"] for violation in Axe().run(tab.page, options=only).response["violations"]
    ]


def test_filters_by_keyboard_and_back_from_the_hash(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page)
    every = ["GD000", "GD201", "GD101", "GD110", "GD120", "GD102"]
    assert tab.shown() == every
    tab.press("/")
    assert tab.focus == "search"
    tab.page.keyboard.type("stdout")
    tab.press("Tab")
    assert tab.focus == "rule"
    tab.press("Tab", "Tab", "Tab")
    assert tab.focus == "new 2"
    tab.press("Space")
    assert tab.shown() == ["GD000", "GD201"]
    tab.press("Tab", "Tab", "Tab", "Tab")
    assert tab.focus == "note 1"
    tab.press("Enter")
    assert tab.shown() == ["GD201"]
    assert tab.page.locator("#count").inner_text() == "1 of 6 shown"
    fragment = tab.page.evaluate("location.hash")
    assert fragment == "#change=new&severity=info&q=stdout"

    again = opened(page, fragment)
    assert again.shown() == ["GD201"]
    assert again.page.locator("#search").input_value() == "stdout"
    assert again.page.locator("[aria-pressed=true]").all_inner_texts() == ["new 2", "note 1"]
    again.page.locator("#clear").press("Enter")
    assert again.shown() == every
    assert again.focus == "search"


def test_filters_by_rule_status_and_owner(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page, "#rule=GD110")
    assert tab.shown() == ["GD110"]
    tab.page.locator("#rule").focus()
    tab.press("ArrowUp")
    assert tab.page.evaluate("location.hash") == "#rule=GD102"
    for fragment, rules in {
        "#status=refuted&status=not-reached": ["GD120", "GD102"],
        "#owner=third-party": ["GD000"],
        "#owner=own&status=confirmed&rule=GD101": ["GD101"],
        "#severity=nothing&q=": ["GD000", "GD201", "GD101", "GD110", "GD120", "GD102"],
    }.items():
        tab.page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
        tab.page.wait_for_function(
            "(n) => document.querySelectorAll('.finding:not([hidden])').length === n", arg=len(rules)
        )
        assert tab.shown() == rules


def test_an_anchor_opens_its_finding_though_it_was_filtered_out(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page, "#severity=info")
    tab.page.locator(".first a").first.press("Enter")
    tab.page.wait_for_selector("#f-f0021[open]")
    assert len(tab.shown()) == 6


def test_a_finding_opens_by_keyboard_and_its_diff_is_copied(
    opened: Callable[..., Tab], page: str, rich: Diagnosis
) -> None:
    tab = opened(page, permissions=["clipboard-read", "clipboard-write"])
    tab.page.locator("#f-f0018 summary").press("Enter")
    # The word is taken back after two seconds, which a busy machine may need to look at it.
    tab.page.evaluate("window.setTimeout = () => 0")
    tab.page.locator("#f-f0018 .copy").press("Enter")
    tab.page.wait_for_function("() => document.querySelector('#f-f0018 .copy').textContent === 'Copied'")
    assert rich.findings[0].fix is not None
    assert tab.page.evaluate("navigator.clipboard.readText()") == rich.findings[0].fix.diff
    tab.page.locator("#f-f0018 .permalink").click()
    tab.page.wait_for_function("() => document.querySelector('#f-f0018 .permalink').textContent === 'Link copied'")
    assert tab.page.evaluate("navigator.clipboard.readText()").endswith("#f-f0018")


def test_what_is_removed_and_what_is_added_stand_side_by_side_where_there_is_room(
    opened: Callable[..., Tab], page: str
) -> None:
    tab = opened(page, viewport={"width": 1280, "height": 900})
    tab.page.locator("#f-f0018 summary").press("Enter")
    # In one look, since the page may still scroll.
    places = "[...document.querySelectorAll('#f-f0018 .pair .row')].map((row) => [row.offsetLeft, row.offsetTop])"
    removed, added, below = tab.page.evaluate(places)
    assert removed[0] < added[0] == below[0]
    assert removed[1] == added[1] < below[1]
    tab.page.set_viewport_size({"width": 390, "height": 800})
    assert len({left for left, _ in tab.page.evaluate(places)}) == 1


def test_a_place_opens_in_the_editor_at_the_address_that_the_reader_gives(
    opened: Callable[..., Tab], page: str
) -> None:
    tab = opened(page)
    asked: list[str] = []
    tab.page.on("dialog", lambda dialog: (asked.append(dialog.default_value), dialog.accept("#at={path}+{line}")))
    tab.page.locator("#f-f0018 summary").press("Enter")
    tab.page.locator("#f-f0018 .editor").click()
    assert tab.page.evaluate("location.hash") == "#at=model.py+18"
    # What the page proposes names no folder of any machine, and once is enough.
    assert asked == ["vscode://file/path/to/checkout/{path}:{line}:{column}"]
    tab.page.locator("#f-f0021 summary").press("Enter")
    tab.page.locator("#f-f0021 .editor").click()
    assert (tab.page.evaluate("location.hash"), len(asked)) == ("#at=model.py+21", 1)


def test_the_theme_is_the_systems_until_it_is_switched(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page, color_scheme="dark")

    def paper() -> str:
        return str(tab.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    dark = paper()
    tab.page.locator("#theme").press("Enter")
    tab.page.wait_for_function("dark => getComputedStyle(document.body).backgroundColor !== dark", arg=dark)
    light = paper()
    tab.page.reload()
    assert paper() == light


def test_print_opens_every_detail_and_folds_it_again(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page)
    tab.page.locator("#f-f0021 summary").click()
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.page.emulate_media(media="print")
    assert tab.page.locator("details:not([open])").count() == 0
    assert min(tab.heights(".finding .body")) > 40
    assert tab.page.locator(".filters:visible, nav:visible, .copy:visible").count() == 0
    tab.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert [row.get_attribute("id") for row in tab.page.locator("details.finding[open]").all()] == ["f-f0021"]


@pytest.mark.parametrize("scripts", [True, False])
def test_many_findings_are_printed_as_a_line_each(
    opened: Callable[..., Tab], rich: Diagnosis, *, scripts: bool
) -> None:
    many = [replace(rich.findings[0], fingerprint=f"{number:016x}") for number in range(51)]
    tab = opened(html.render(replace(rich, findings=tuple(many))), java_script_enabled=scripts)
    tab.page.locator(".finding summary").first.click()
    note = tab.page.get_by_text("On paper a finding is one line")
    assert not note.is_visible()
    tab.page.emulate_media(media="print")
    if scripts:
        tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert note.is_visible()
    opened_, *closed = tab.heights(".finding")
    assert opened_ > 2 * max(closed)


def test_without_javascript_all_is_there_but_the_filters(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page, "#severity=info", java_script_enabled=False)
    assert len(tab.shown()) == 6
    assert tab.page.locator(".filters:visible, #theme:visible, .copy:visible").count() == 0
    tab.page.locator("#f-f0018 summary").press("Enter")
    assert tab.page.locator("#f-f0018 .diff").is_visible()
    # Printed, what is folded shows too.
    tab.page.emulate_media(media="print")
    assert min(tab.heights(".finding .body")) > 40


def test_a_phone_scrolls_in_one_direction(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page, viewport={"width": 360, "height": 740})
    tab.page.locator("#expand").click()
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 360


def test_long_paths_wrap_on_a_phone(opened: Callable[..., Tab], rich: Diagnosis) -> None:
    path = "packages/a_folder_with_a_long_name/that_has_another_below/modeling_of_some_long_architecture.py"
    findings = tuple(replace(f, location=replace(f.location, path=path)) for f in rich.findings)
    tab = opened(html.render(replace(rich, findings=findings)), viewport={"width": 360, "height": 740})
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_policy_stops_foreign_scripts(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page.replace("</body>", "<script>document.title = 'owned'</script></body>"))
    assert tab.page.title() != "owned"
    assert any("Content Security Policy" in error for error in tab.errors)


def test_j_and_k_go_from_finding_to_finding(opened: Callable[..., Tab], page: str) -> None:
    tab = opened(page, "#owner=third-party&severity=error")
    focused = "document.activeElement.closest('.finding')?.dataset.rule"
    assert tab.shown() == ["GD000"]
    tab.page.locator("#clear").press("Enter")
    tab.page.locator("h1").click()
    tab.press("j", "j")
    assert tab.page.evaluate(focused) == "GD201"
    tab.press("k")
    assert tab.page.evaluate(focused) == "GD000"
    tab.press("k")
    assert tab.page.evaluate(focused) == "GD102"


def test_a_click_on_a_submodule_shows_its_findings(opened: Callable[..., Tab], rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    nodes = (ModuleNode("", "Net", "partly", 9, 0.9, 1, 1), ModuleNode("head", "Head", "eager", 5, 0.0, 1, 0))
    head = replace(rich.findings[1], function="Head.forward")
    run = replace(rich.dynamic[0], modules=nodes)
    tab = opened(html.render(replace(rich, findings=(rich.findings[0], head), dynamic=(run,))))
    tab.page.locator(".icicle.wide a", has_text="head (Head)").click()
    # The page filters when the browser tells of the new hash, which it does later.
    tab.page.wait_for_function("() => document.querySelectorAll('.finding:not([hidden])').length === 1")
    assert tab.shown() == [head.rule]
    assert tab.page.evaluate("location.hash") == "#q=Head."


@pytest.fixture
def served_slowly(page: str) -> Iterator[str]:
    """The address of a server that sends the page in parts, so that the browser paints it before it has arrived."""
    data = page.encode()
    size = len(data) // 40

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            for start in range(0, len(data), size):
                self.wfile.write(data[start : start + size])
                self.wfile.flush()
                time.sleep(0.05)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_the_page_arrives(browser: Browser, served_slowly: str, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 720}) as context:
        tab = context.new_page()
        tab.goto(served_slowly)
        shifts = tab.evaluate(
            "new Promise((done) => { const found = []; new PerformanceObserver((list) => found.push(...list.getEntries()))"
            ".observe({type: 'layout-shift', buffered: true}); requestAnimationFrame(() => setTimeout(() => done(found.map("
            "(shift) => shift.value)), 200)); })"
        )
        assert sum(shifts) < 0.005


def test_a_fleet_of_a_thousand_is_sorted_and_filtered(opened: Callable[..., Tab]) -> None:
    rows = [
        Row(
            Result(f"m{number}", "", "done", 1.0, 0, "", Summary("ready", "Ready", 0, 0, number, 0, 1, 0, 1, 0)),
            "worse" if number % 100 == 7 else "same",
        )
        for number in range(999)
    ]
    tab = opened(fleet.render(Fleet("<b>", (*rows, Row(Result("gone", "", "crashed", 2.0), "worse")), (), "before")))
    assert (tab.errors, len(tab.requests)) == ([], 1)
    names = tab.page.locator("#rows tr:visible th")
    breaks = tab.page.locator("thead button", has_text="breaks")
    breaks.click()
    # Rows out of view have a text, and are not laid out.
    assert (names.first.text_content(), names.last.text_content()) == ("m0", "gone")
    assert names.last.inner_text() == ""
    breaks.click()
    assert (names.first.text_content(), names.last.text_content()) == ("m998", "gone")
    tab.page.locator("#trend").select_option("worse")
    tab.page.locator("#text").fill("m1")
    assert names.all_inner_texts() == ["m107"]
    assert tab.page.locator("#count").inner_text() == "1 of 1000"
