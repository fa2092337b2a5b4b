"""What the fixes were seen to do, and the command that applies them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from graphdoctor.model.findings import Diagnosis, Fix
from graphdoctor.report.html import page
from graphdoctor.report.proof import Effect, command, proof, safe_fixes
from tests.page_counts import text


def test_the_title_counts_and_the_tone_is_good(rich: Diagnosis) -> None:
    found = proof(rich)
    assert found is not None and found.good
    assert found.title == (
        "With 1 fix applied to a copy: 1 graph, 0 graph breaks, fullgraph=True passes, outputs equal"
    )


def test_outputs_say_nothing_of_what_did_not_run(rich: Diagnosis) -> None:
    fix = rich.findings[0].fix
    assert fix is not None
    for doubts, ending in (
        ("the test in line 18 was always false", "outputs equal, but not all of the changed code ran"),
        ("line 19 did not run", "outputs equal, but not all of the changed code ran"),
        ("with zeros output differs", "outputs equal for the sample"),
        ("", "outputs equal"),
    ):
        doubted = replace(rich.findings[0], fix=replace(fix, safety="unsafe", doubts=doubts))
        found = proof(replace(rich, findings=(doubted, *rich.findings[1:])))
        assert found is not None and found.title.endswith(f", {ending}")


def test_fixes_that_change_nothing_are_not_to_be_applied(rich: Diagnosis) -> None:
    assert rich.verification is not None
    same = replace(rich.verification, breaks=rich.summary.breaks or 0, grade="none", fullgraph_passes=False)
    found = proof(replace(rich, verification=same))
    assert found is not None and not found.good and not found.command and not found.after
    assert found.title.startswith("1 fix applied to a copy leaves no fewer graph breaks: ")


def test_a_graph_where_nothing_was_compiled_is_better_though_the_next_break_shows(rich: Diagnosis) -> None:
    assert rich.verification is not None
    summary = replace(rich.summary, verdict="nothing-compiled", graphs=0, breaks=1)
    next_break = replace(rich.verification, graphs=2, breaks=1, grade="none", fullgraph_passes=False)
    found = proof(replace(rich, summary=summary, verification=next_break))
    assert found is not None and found.command and not found.good
    assert found.title.startswith("With 1 fix applied to a copy: 2 graphs, 1 graph break, fullgraph=True fails")


def test_no_proof_where_nothing_was_verified_or_all_was_dropped(rich: Diagnosis) -> None:
    assert rich.verification is not None
    assert proof(replace(rich, verification=None)) is None
    assert proof(replace(rich, verification=replace(rich.verification, fixes=()))) is None


@pytest.mark.parametrize(
    ("scanned", "applies"),
    [
        ("graphdoctor scan m.py --html r.html --report=json=a.json -v", "graphdoctor scan m.py --fix"),
        ("graphdoctor scan m.py --target 'My Net' --output o", "graphdoctor scan m.py --target 'My Net' --fix"),
        ("graphdoctor trace /tmp/t", "graphdoctor scan model.py --fix"),
        ("", "graphdoctor scan model.py --fix"),
    ],
)
def test_the_command_is_that_of_the_scan_without_its_outputs(rich: Diagnosis, scanned: str, applies: str) -> None:
    assert command(replace(rich, command=scanned)) == applies


def test_an_unsafe_fix_needs_its_option(rich: Diagnosis) -> None:
    fix = rich.findings[0].fix
    assert fix is not None
    unsafe = replace(rich.findings[0], fix=replace(fix, safety="unsafe"))
    changed = replace(rich, findings=(unsafe,))
    assert command(changed).endswith("--fix --unsafe-fixes")
    found = proof(changed)
    assert found is not None and not found.good
    assert found.caution == "The fix is unsafe and may change behaviour: read the change first."
    assert found.effects == (Effect("unsafe", fix.reason, "model.py:18"),) and not found.safer


def test_what_is_unsafe_is_named_and_can_be_left_out(rich: Diagnosis) -> None:
    safe = rich.findings[0]
    assert safe.fix is not None and rich.verification is not None
    setting = replace(safe.fix.edits[0], text="torch._dynamo.config.capture_scalar_outputs = True\n")
    for_process = replace(safe, fix=replace(safe.fix, safety="unsafe", edits=(setting,)), fingerprint="setting")
    both = replace(rich.verification, fixes=(safe.fingerprint, "setting"))
    found = proof(replace(rich, findings=(safe, for_process), verification=both))
    assert found is not None
    assert found.caution == "1 of them changes a setting of torch for the whole process: read the change first."
    assert found.safer == found.command.replace(" --unsafe-fixes", "") != found.command
    assert found.leaves == "the graph break at model.py:18 stays"


def test_many_places_of_one_effect_are_counted(many: Callable[[int], Diagnosis]) -> None:
    found = safe_fixes(replace(many(60), verification=None, dynamic=None))
    assert found is not None
    (effect,) = found.effects
    assert effect.places == "model.py:100, model.py:106, model.py:112, model.py:118, model.py:124 and 5 more"


def test_nothing_is_said_to_be_left_where_no_fix_is_unsafe(rich: Diagnosis) -> None:
    found = proof(rich)
    assert found is not None and (found.safer, found.leaves) == ("", "")
    assert "was not measured" not in text(page.render(rich).partition('<ul class="numbers"')[0])


def test_what_safe_fixes_leave_of_what_a_run_met_is_said(rich: Diagnosis) -> None:
    first, second = rich.findings[0], replace(rich.findings[1], fix=None, owner="own", events=1)
    found = safe_fixes(replace(rich, findings=(first, second), verification=None))
    assert found is not None
    place = f"{second.location.path}:{second.location.line}"
    assert found.leaves == f"the graph break at {place} and 1 recompile cause stay"
    assert f"The graph break at {place} and 1 recompile cause stay." in text(
        page.render(replace(rich, findings=(first, second), verification=None))
    )
    alone = safe_fixes(replace(rich, findings=(first,), dynamic=(), verification=None))
    assert alone is not None and alone.leaves == ""


def test_the_effect_with_most_places_is_the_first(rich: Diagnosis) -> None:
    fix = rich.findings[0].fix
    assert fix is not None
    rare = replace(rich.findings[0], fix=replace(fix, safety="unsafe", reason="Rare.", doubts="line 3 did not run"))
    common = [
        replace(rich.findings[0], fingerprint=str(line), location=replace(rare.location, line=line)) for line in (1, 2)
    ]
    chosen = (rare, *common)
    assert rich.verification is not None
    tried = replace(rich.verification, fixes=tuple(finding.fingerprint for finding in chosen))
    found = proof(replace(rich, findings=chosen, verification=tried))
    assert found is not None
    assert [effect.text for effect in found.effects] == [fix.reason, "Rare. Not verified: line 3 did not run."]


def test_what_no_fix_removes_is_said_beside_them(rich: Diagnosis) -> None:
    found = proof(rich)
    assert found is not None
    assert found.stays == "1 recompile cause stays: torch._dynamo.mark_dynamic(x, 0)"
    assert rich.dynamic is not None
    none = proof(replace(rich, dynamic=(replace(rich.dynamic[0], recompiles=()),)))
    assert none is not None and not none.stays


def test_an_advice_for_one_cause_of_recompiles_is_none_for_others(rich: Diagnosis) -> None:
    run = (rich.dynamic or ())[0]
    one = run.recompiles[0]
    others = tuple(replace(one, line=line, remedy=None, verified_compilations=None) for line in (90, 91))
    found = proof(replace(rich, dynamic=(replace(run, recompiles=(*run.recompiles, *others)),)))
    assert found is not None
    assert found.stays == "3 recompile causes stay; for 1 of them: torch._dynamo.mark_dynamic(x, 0)"


def test_what_a_run_has_not_tried_is_proved_by_another_run(rich: Diagnosis) -> None:
    """What is unsafe from the source may be verified by then, so the page does not call only the safe ones fixes."""
    unsafe, safe = (replace(rich.findings[0], fix=Fix(safety, "Reason.")) for safety in ("unsafe", "safe"))
    ran = replace(
        rich, findings=(unsafe, safe), verification=None, command="graphdoctor run --html x.html train.py --n 1"
    )
    found = safe_fixes(ran)
    assert found is not None
    assert found.title == "2 automatic fixes (1 safe), not tried yet"
    assert found.command == "graphdoctor run --fix train.py --n 1"
    assert (found.caution, found.leaves) == (
        "A run proves them on the calls of the program, and writes the safe ones and those that are verified then.",
        "",
    )
    module = safe_fixes(replace(ran, command="graphdoctor run --verbose --output r.txt -m pkg.train --output x"))
    assert module is not None and module.command == "graphdoctor run --fix -m pkg.train --output x"
    alone = safe_fixes(replace(ran, findings=(unsafe,)))
    assert alone is not None and alone.title == "1 automatic fix, not tried yet"
    only_safe = safe_fixes(replace(ran, findings=(safe,)))
    assert only_safe is not None and "scan" in only_safe.command
