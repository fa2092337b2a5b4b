"""Each rule's examples, run under Dynamo and read by the static pass: both find what is marked, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks import rule_versions
from benchmarks.rule_versions.examples import breaks, examples, marks, rules
from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint.engine import analyse
from graphdoctor.model.findings import Finding

pytest.importorskip("torch")

RUNNER = Path(rule_versions.__file__).with_name("run.py")
RULES = rules()
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.NAME)

#: Rules whose examples run in one process. What ends it, the time limit too, costs the tests of these rules only.
SHARD = 55


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest) -> list[ModuleType]:
    """The rules that the selected tests are about (``-k``), so that a look at one rule does not run them all."""
    calls = [
        item.callspec
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
    ]
    modules = [call.params.get("rule") for call in calls]
    wanted = {rule.CODE for rule in modules if isinstance(rule, ModuleType)}
    return [rule for rule in RULES if rule.CODE in wanted]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory, asked: list[ModuleType]) -> dict[str, list[Finding]]:
    """What the static pass says of every example, by name."""
    folder = tmp_path_factory.mktemp("sources")
    found: dict[str, list[Finding]] = {}
    for rule in asked:
        for name, source in examples(rule).items():
            file = folder / f"{name}.py"
            file.write_text(source)
            result = analyse([(file, file.name)])
            assert [f.reason for f in result.files] == [None]
            found[name] = list(result.findings)
    return found


@pytest.fixture(scope="module")
def fixed(read: dict[str, list[Finding]], asked: list[ModuleType]) -> dict[str, str]:
    """The breaking examples that the fixes of their findings mend, as they are afterwards."""
    texts: dict[str, str] = {}
    for rule in asked:
        for name, source in examples(rule).items():
            if read[name] and all(finding.fix and finding.fix.edits for finding in read[name]):
                chosen, _ = select_fixes(read[name], unsafe=True)
                texts[name] = fixed_texts({f"{name}.py": source}, chosen)[f"{name}.py"]
    return texts


class Shards:
    """What the examples of rules, and the fixed ones, did under Dynamo: a process for each SHARD of the rules."""

    def __init__(self, sources: dict[str, dict[str, str]], folder: Path) -> None:
        """``sources``: by the code of the rule, the examples by name."""
        self._sources = sources
        self._answer = folder / "answer.json"
        self._known: dict[int, dict[str, Any] | None] = {}

    def of(self, rule: ModuleType) -> dict[str, Any]:
        number = RULES.index(rule) // SHARD
        if number not in self._known:
            # What stays if the process fails or meets the time limit, so that no other test waits for it again.
            self._known[number] = None
            self._known[number] = self._run(RULES[number * SHARD :][:SHARD])
        found = self._known[number]
        assert found is not None, "the process that ran these examples did not come to its end"
        return found

    def _run(self, rules: list[ModuleType]) -> dict[str, Any]:
        sources = [self._sources.get(rule.CODE, {}) for rule in rules]
        subprocess.run(
            [sys.executable, str(RUNNER), str(self._answer)],
            input=json.dumps({name: text for part in sources for name, text in part.items()}),
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        result: dict[str, Any] = json.loads(self._answer.read_text())
        return result


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, fixed: dict[str, str], asked: list[ModuleType]) -> Shards:
    sources = {}
    for rule in asked:
        own = examples(rule)
        sources[rule.CODE] = own | {f"{name}_fixed": fixed[name] for name in own if name in fixed}
    return Shards(sources, tmp_path_factory.mktemp("examples"))


@pytest.fixture
def ran(rule: ModuleType, shards: Shards) -> dict[str, Any]:
    """What every example of the rule, and every fixed one, did under Dynamo."""
    return shards.of(rule)


@each_rule
def test_examples_break_exactly_where_they_are_marked(rule: ModuleType, ran: dict[str, Any]) -> None:
    said = {name: breaks(source) for name, source in examples(rule).items()}
    assert {name: ran[name]["breaks"] for name in said} == said


@each_rule
def test_examples_raise_only_where_they_say_so(rule: ModuleType, ran: dict[str, Any]) -> None:
    said = {name: ["raises"] in marks(source).values() for name, source in examples(rule).items()}
    assert {name: ran[name]["raised"] for name in said if bool(ran[name]["raised"]) is not said[name]} == {}


@each_rule
def test_what_a_recompile_rule_flags_compiles_again(rule: ModuleType, ran: dict[str, Any]) -> None:
    counts = {name: ran[name]["compiled"] for name in examples(rule) if "_again_" in name}
    assert {name: n for name, n in counts.items() if (n > 1) is not ("_breaks_" in name)} == {}


@each_rule
def test_fixed_examples_do_not_break(rule: ModuleType, fixed: dict[str, str], ran: dict[str, Any]) -> None:
    mended = [name for name in examples(rule) if name in fixed]
    assert bool(mended) is hasattr(rule, "fix")
    assert [(name, ran[f"{name}_fixed"], fixed[name]) for name in mended if ran[f"{name}_fixed"]["breaks"]] == []


@each_rule
def test_the_static_pass_flags_exactly_the_marked_lines(rule: ModuleType, read: dict[str, list[Finding]]) -> None:
    said, flagged = {}, {}
    for name, source in examples(rule).items():
        found = marks(source)
        only = any("flagged" in words for words in found.values())
        said[name] = {line for line, words in found.items() if not only or "flagged" in words}
        flagged[name] = {f.location.line for f in read[name] if f.rule == rule.CODE}
    assert flagged == said


@each_rule
def test_no_rule_calls_a_clean_example_an_error(rule: ModuleType, read: dict[str, list[Finding]]) -> None:
    clean = [name for name in examples(rule) if "_clean_" in name]
    assert [(name, f.rule, f.message) for name in clean for f in read[name] if f.severity == "error"] == []


@each_rule
def test_every_breaking_example_is_marked_and_no_clean_one(rule: ModuleType) -> None:
    assert all(marks(source) for source in rule.BREAKS)
    assert not any(marks(source) for source in rule.CLEAN)
    assert len(rule.CLEAN) > len(rule.BREAKS)


@each_rule
def test_the_ids_of_the_examples_are_those_of_the_rule(rule: ModuleType) -> None:
    # GB7000 and GB0066 say where a break stands (in a loop, in a with block), not what it is.
    used = {word for source in rule.BREAKS for words in marks(source).values() for word in words}
    assert used - {"GB7000", "GB0066", "raises", "flagged"} == set(rule.GB_IDS)
