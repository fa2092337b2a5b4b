"""Run the examples of all rules on several versions of torch, and write the table of rules and versions.

``python -m benchmarks.rule_versions PYTHON...`` takes the interpreters of environments that hold one version each, with
libcst, click, jinja2, and with transformers, accelerate and tqdm for the examples that import them. What is known of
other versions is kept in ``results/rule_versions.json``; the table is written to docs/versions.md. Takes about five
minutes for each version; ``--added`` runs only the rules that got examples.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.rule_versions.examples import difference, examples, holds_on, rules
from graphdoctor.target_torch.specifiers import allows

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "rule_versions.json"
PAGE = ROOT / "docs" / "versions.md"

#: Rules whose examples run in one process: to import torch takes as long as some rules.
_TOGETHER = 6

_HEAD = """# Rules and versions of torch

Made by `python -m benchmarks.rule_versions PYTHON...`, which runs every example of every rule under Dynamo:
those that break, and those that must not. A cell says how many of them do on that version what the rule says of them;
the ids of breaks are not compared. Rules are written for torch 2.13. An example that holds on some versions only has a
line with them, as `# torch >=2.13`; what happens on the others is listed below.

A scan asks the rules about the installed torch, or `--target-torch`, and does not report what is one graph there: on
versions before 2.10 `tolist` of integers; before 2.10 and from 2.14 on a text as the message of `torch._check`;
before 2.11 an `nn.Buffer` assigned to itself; before 2.13
`nn.init.trunc_normal_`, the functions of `torch.distributed.nn`, one tensor given twice to an autograd function, and
text of a tensor that is compared; from 2.14 on `pow`, attributes of functions, `callable` of a tensor's method,
`torch.backends.mps.is_available`, `to_mkldnn`, and `max` and `min` of tensors with keys that are no tensors; from 2.15
on `torch._C._is_tracing`, `torch._assert`, and `staticmethod` and `classmethod` that compiled code calls.
"breaks on no line" below may mean that a whole function is skipped, which old versions do without a line; that is
reported.

"""


def version_of(python: str) -> str:
    """The version of torch of an interpreter. Raises ClickException."""
    done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    if done.returncode != 0:
        raise click.ClickException(f"{python} cannot import torch: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip().partition("+")[0]


def measure(python: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """For each rule its number of examples and those that differ. What is ``known`` of as many examples is kept."""
    found = {rule.CODE: known.get(rule.CODE, {}) for rule in rules()}
    every = [rule for rule in rules() if found[rule.CODE].get("examples") != len(examples(rule))]
    for start in range(0, len(every), _TOGETHER):
        batch = {rule.CODE: examples(rule) for rule in every[start : start + _TOGETHER]}
        ran, ended = _run(python, {name: text for sources in batch.values() for name, text in sources.items()})
        for code, sources in batch.items():
            differ = {name: ended or difference(name, source, ran[name]) for name, source in sources.items()}
            found[code] = {"examples": len(sources), "differ": {n: text for n, text in differ.items() if text}}
            click.echo(f"{code} {len(found[code]['differ'])} of {len(sources)} differ", err=True)
    return found


def _run(python: str, sources: dict[str, str]) -> tuple[dict[str, Any], str]:
    """What the examples did, or how the process ended that should have said so."""
    known = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [python, str(ROOT / "benchmarks" / "rule_versions" / "run.py"), str(answer)]
        done = subprocess.run(
            command, input=json.dumps(sources), env={**os.environ, **known}, capture_output=True, text=True
        )
        if done.returncode != 0:
            return {}, f"the process ended with {done.returncode}"
        result: dict[str, Any] = json.loads(answer.read_text())
        return result, ""


def page(results: dict[str, dict[str, Any]]) -> str:
    """The table in Markdown: rules down, versions across, then what differs."""
    versions = sorted(results, key=_key)
    lines = [f"| Rule | {' | '.join(versions)} |", "|---" * (len(versions) + 1) + "|"]
    for rule in rules():
        cells = [_cell(results[version].get(rule.CODE)) for version in versions]
        lines.append(f"| {rule.CODE} {rule.NAME} | {' | '.join(cells)} |")
    totals = [f"{_count(results[v]) - _differing(results[v])} of {_count(results[v])}" for v in versions]
    lines.append(f"| all | {' | '.join(totals)} |")
    undeclared = [str(len(disagreeing(version, results[version]))) for version in versions]
    lines.append(f"| against what they declare | {' | '.join(undeclared)} |")
    for version in versions:
        if _differing(results[version]):
            lines += ["", f"## What differs on {version}", ""]
            lines += [
                f"- {code} `{name}`: {text}"
                for code, row in sorted(results[version].items())
                for name, text in row["differ"].items()
            ]
    return _HEAD + "\n".join(lines) + "\n"


def disagreeing(version: str, result: dict[str, Any]) -> list[str]:
    """The examples that differ on a version though they declare that they hold on it."""
    declared = {name: holds_on(rule, source) for rule in rules() for name, source in examples(rule).items()}
    return [
        name
        for row in result.values()
        for name in row["differ"]
        if name in declared and allows(declared[name], version)
    ]


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    right = row["examples"] - len(row["differ"])
    return f"{right}" if right == row["examples"] else f"{right} of {row['examples']}"


def _count(result: dict[str, Any]) -> int:
    return sum(row["examples"] for row in result.values())


def _differing(result: dict[str, Any]) -> int:
    return sum(len(row["differ"]) for row in result.values())


@click.command()
@click.argument("pythons", nargs=-1, metavar="PYTHON...")
@click.option("--added", is_flag=True, help="Run only rules that had another number of examples when they were run.")
def main(pythons: tuple[str, ...], added: bool) -> None:
    """Measure the versions of torch of these interpreters, and write the table."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for python in pythons:
        version = version_of(python)
        results[version] = measure(python, results.get(version, {}) if added else {})
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
