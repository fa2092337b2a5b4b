"""Which models break, in which nothing is predicted to, and what is code around models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.model.findings import Caller, Diagnosis, Finding, Region
from graphdoctor.report.first_actions import first_actions
from graphdoctor.report.overview.affected import affected, around_models, by_model, overview
from graphdoctor.report.text import terminal
from graphdoctor.report.text.look import Look


def region(name: str, *findings: str, functions: int = 1, host: str = "", is_module: bool = True) -> Region:
    return Region(name, f"{name.lower()}.py", 7, is_module, functions, findings, host)


@pytest.fixture
def scanned(rich: Diagnosis) -> Diagnosis:
    """Two models with two and one findings, one that works on pictures, and three without findings."""
    base = replace(rich.findings[0], status="static-only", events=0, whole_frame=False)

    def at(name: str, line: int) -> Finding:
        place = replace(base.location, path=f"{name.lower()}.py", line=line, end_line=line)
        return replace(base, location=place, fingerprint=f"{name}{line}", function=f"{name}.forward")

    found = (at("Shown", 9), at("Small", 3), at("Large", 4), at("Large", 5))
    regions = (
        region("Shown", "Shown9", "Small3", host="PIL.Image.open"),
        region("Small", "Small3"),
        region("Large", "Large4", "Large5"),
        region("Clean", functions=2),
        region("Cleanest", functions=9),
        region("helper", is_module=False),
    )
    return replace(rich, findings=found, dynamic=None, verification=None, comparison=None, regions=regions)


def test_most_errors_first_and_code_around_models_last(scanned: Diagnosis) -> None:
    assert [(row.region.name, row.counted) for row in affected(scanned)] == [
        ("Large", "2 breaks"),
        ("Small", "1 break"),
        ("Shown", "2 breaks"),
    ]
    assert around_models(scanned) == {"Shown9"}


def test_a_model_whose_findings_all_stand_under_others_names_them(scanned: Diagnosis) -> None:
    beside = (region("Inner", "Large4", "Small3"), region("Again", "Large5", functions=3))
    rows = affected(replace(scanned, regions=(*scanned.regions, *beside)))
    assert {row.region.name: row.under for row in rows if row.under} == {"Small": ("Inner",), "Again": ("Large",)}
    remarks = [row.remark for row in rows if row.under]
    assert remarks == [f"in code that {name} runs, too" for name in ("Large", "Inner")]


def test_findings_stand_under_the_first_model_that_runs_their_code(scanned: Diagnosis) -> None:
    beside = replace(scanned.findings[0], fingerprint="usage")
    found = by_model(scanned, [beside, *scanned.findings])
    assert [(row and row.region.name, [f.fingerprint for f in group]) for row, group in found] == [
        ("Large", ["Large4", "Large5"]),
        ("Small", ["Small3"]),
        ("Shown", ["Shown9"]),
        (None, ["usage"]),
    ]


def test_the_first_lines_name_models(scanned: Diagnosis) -> None:
    text = terminal.render(scanned)
    assert "Where graphs break, by model:\n  2 breaks  Large  large.py:7\n   1 break  Small  small.py:7\n" in text
    assert "No break is predicted in the code of 2 other models: Cleanest and Clean;" in text
    # Nobody compiles the last one, so a line says enough.
    short = "Shown (shown.py:7), code around a model (--verbose has all of it):\n  shown.py:9:9: error GD101"
    assert short in text and "code around a model (--verbose" not in terminal.render(scanned, Look(verbose=True))


def test_a_clean_scan_says_what_was_looked_at(scanned: Diagnosis) -> None:
    clean = replace(scanned, findings=(), regions=scanned.regions[3:])
    wrapped = "No break is predicted in the code of 2 models: Cleanest and Clean; and of 1 function: helper.\n"
    assert wrapped in terminal.render(clean)
    one = replace(clean, regions=scanned.regions[3:4])
    assert "No break is predicted in the code of 1 model: Clean.\n" in terminal.render(one)


def test_a_model_that_breaks_in_a_library_is_not_said_to_be_clean(scanned: Diagnosis) -> None:
    way = (Caller("clean.py", 9, "Clean.forward"), Caller("helper.py", 2, "prepare"))
    inside = replace(scanned.findings[0], owner="third-party", called_from=way)
    text = terminal.render(replace(scanned, findings=(inside,), regions=scanned.regions[3:]))
    assert "No break is predicted in the code of 1 model: Cleanest; and of 1 function: helper.\n" in text


def test_a_run_a_comparison_and_the_findings_of_one_model_need_no_overview(
    scanned: Diagnosis, compared: Diagnosis
) -> None:
    assert overview(replace(scanned, dynamic=())) is None
    assert overview(replace(scanned, comparison=compared.comparison)) is None
    assert overview(replace(scanned, regions=scanned.regions[:1])) is None


def test_a_model_with_silenced_findings_is_not_called_clean(scanned: Diagnosis) -> None:
    silenced = replace(scanned, regions=(replace(scanned.regions[3], silenced=1), *scanned.regions[4:]))
    found = overview(silenced)
    assert found is not None and [each.name for each in found.clean] == ["Cleanest"]


def test_many_models_are_cut(scanned: Diagnosis) -> None:
    found = overview(replace(scanned, regions=(*scanned.regions, *(region(f"More{n}", "Large4") for n in range(9)))))
    assert found is not None and (len(found.affected), found.more) == (8, 4)
    found = overview(replace(scanned, findings=(), regions=tuple(region(f"Clean{n}") for n in range(9))))
    assert found is not None and found.none_in.endswith("Clean0, Clean1, Clean2, Clean3, Clean4 and 4 more.")


def test_models_that_compile_parts_of_themselves_are_named(scanned: Diagnosis) -> None:
    whole = [replace(region(f"Whole{n}"), compiles_parts=True) for n in range(7)]
    found = overview(replace(scanned, regions=(scanned.regions[0], whole[0])))
    assert found is not None and (found.none_in, found.note) == (
        "", "Whole0 compiles parts of itself: only these parts are judged."
    )  # fmt: skip
    text = terminal.render(replace(scanned, regions=(*scanned.regions, *whole)))
    assert "Cleanest and Clean; and of 1 other function: helper. Whole0" in " ".join(text.split())
    end = "Whole4 and 2 more compile parts of themselves: only these parts are judged."
    assert end in " ".join(text.split())


def test_a_path_stays_in_one_piece(scanned: Diagnosis) -> None:
    long = f"package/{'part_' * 20}model.py"
    first = replace(scanned.regions[0], path=long)
    lines = terminal.render(replace(scanned, regions=(first, *scanned.regions[1:]))).splitlines()
    place = next(number for number, line in enumerate(lines) if line.endswith(f"  {long}:7"))
    assert "`PIL.Image.open`" in " ".join(lines[place + 1 : place + 4])


def test_what_to_do_first_leaves_out_code_around_models(scanned: Diagnosis) -> None:
    titles = [action.effect for action in first_actions(scanned, 1)]
    assert titles[0].startswith("3 findings of GD101 in 2 files")
