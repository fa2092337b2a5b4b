"""The JSON contract ``graphdoctor/1``: fields may be added, never renamed.

Absent is null and never missing; the order is that of the diagnosis; nothing but ``timings`` depends on the clock.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graphdoctor.model.findings import SCHEMA
from graphdoctor.model.labels import label
from graphdoctor.report.json_format import advice, optional_checks

if TYPE_CHECKING:
    from graphdoctor.model.findings import Comparison, Diagnosis, Finding, Fix, ScannedFile, Summary
    from graphdoctor.model.runs import Break, DynamicRun, Explain, FullGraph, Numerics, Recompile, Sweep, Verification

Json = dict[str, Any]


def render(diagnosis: Diagnosis) -> str:
    """``to_dict`` as text, indented, ASCII only, with a final newline."""
    return json.dumps(to_dict(diagnosis), indent=2, allow_nan=False) + "\n"


def to_dict(diagnosis: Diagnosis) -> Json:
    """The diagnosis as plain dicts, lists, strings and numbers. Numbers that JSON cannot hold (NaN, inf) are null."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "graphdoctor", "version": diagnosis.tool_version},
        "command": _text(diagnosis.command),
        "environment": {key: diagnosis.environment[key] for key in sorted(diagnosis.environment)},
        "summary": _summary(diagnosis.summary),
        "files": [_file(file) for file in diagnosis.files],
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "regions": [{**asdict(region), "host": _text(region.host)} for region in diagnosis.regions],
        "dynamic": None if diagnosis.dynamic is None else [_run(run) for run in diagnosis.dynamic],
        "verification": _verification(diagnosis.verification),
        "comparison": _comparison(diagnosis.comparison),
        "advice": advice.fields(diagnosis.advice),
        "notes": list(diagnosis.notes),
        "timings": {key: _number(diagnosis.timings[key]) for key in sorted(diagnosis.timings)},
    }


def _summary(summary: Summary) -> Json:
    return {
        "verdict": summary.verdict,
        "headline": summary.headline,
        "errors": summary.errors,
        "warnings": summary.warnings,
        "breaks": summary.breaks,
        "breaks_own": summary.breaks_own,
        "graphs": summary.graphs,
        "fixable": summary.fixable,
        "files": summary.files,
        "failed": summary.failed,
        "uneven": summary.uneven,
    }


def _file(file: ScannedFile) -> Json:
    return {"path": file.path, "lines": file.lines, "status": file.status, "reason": file.reason}


def _finding(finding: Finding) -> Json:
    place = finding.location
    return {
        "fingerprint": finding.fingerprint,
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "function": finding.function,
        "message": finding.message,
        "fact": finding.fact,
        "consequence": finding.consequence and asdict(finding.consequence),
        "why": finding.why,
        "suggestion": finding.suggestion,
        "url": _text(finding.url),
        "status": finding.status,
        "owner": finding.owner,
        "gb_ids": list(finding.gb_ids),
        "events": finding.events,
        "whole_frame": finding.whole_frame,
        "dropped": list(finding.dropped),
        "fix": _fix(finding.fix),
        "called_from": [[caller.path, caller.line, caller.function] for caller in finding.called_from],
        "guarded": finding.guarded and asdict(finding.guarded),
        "snippet": list(finding.snippet),
        "snippet_start": finding.snippet_start,
        "allowed": _text(finding.allowed),
    }


def _fix(fix: Fix | None) -> Json | None:
    if fix is None:
        return None
    edits = [{"path": e.path, "start": list(e.start), "end": list(e.end), "text": e.text} for e in fix.edits]
    return {
        "safety": fix.safety,
        "label": label(fix),
        "reason": fix.reason,
        "diff": _text(fix.diff),
        "edits": edits,
        "grade": fix.grade,
        "detail": _text(fix.detail),
        "doubts": _text(fix.doubts),
        "verified": fix.verified,
        "assumes": _text(fix.assumes),
        "written": fix.written,
    }


def _run(run: DynamicRun) -> Json:
    return {
        "target": run.target,
        "mode": run.mode,
        "device": run.device,
        "outcome": run.outcome,
        "detail": _text(run.detail),
        "raised_at": run.raised_at and [run.raised_at.path, run.raised_at.line, run.raised_at.function],
        "raised_with": list(run.raised_with),
        "inputs": _text(run.inputs),
        "graphs": run.graphs,
        "operators": run.operators,
        "compiled_share": _number(run.compiled_share),
        "breaks": [_break(entry) for entry in run.breaks],
        "pieces": [
            {"operators": piece.operators, "break_at": piece.break_at, "dropped": _text(piece.dropped)}
            for piece in run.pieces
        ],
        "fullgraph": _fullgraph(run.fullgraph),
        "explain": _explain(run.explain),
        "left_out": list(run.left_out),
        "recompiles": [_recompile(recompile) for recompile in run.recompiles],
        "sweeps": [_sweep(sweep) for sweep in run.sweeps],
        "numerics": _numerics(run.numerics),
        **optional_checks.fields(run),
    }


def _break(entry: Break) -> Json:
    return {
        "path": entry.path,
        "line": entry.line,
        "column": entry.column,
        "function": entry.function,
        "gb_id": entry.gb_id,
        "gb_type": entry.gb_type,
        "reason": entry.reason,
        "hints": list(entry.hints),
        "events": entry.events,
        "whole_frame": entry.whole_frame,
        "owner": entry.owner,
        "stack": [[frame.path, frame.line, frame.function] for frame in entry.stack],
        "phase": entry.phase,
        "dropped": [[frame.path, frame.line, frame.function] for frame in entry.dropped],
        "condition": _text(entry.condition),
        "call": entry.call,
        "as_numbers": list(entry.as_numbers),
        "with_gradients": entry.with_gradients,
    }


def _fullgraph(fullgraph: FullGraph) -> Json:
    return {
        "passes": fullgraph.passes,
        "error": fullgraph.error,
        "path": fullgraph.path,
        "line": fullgraph.line,
    }


def _explain(explain: Explain | None) -> Json | None:
    if explain is None:
        return None
    return {
        "graphs": explain.graphs,
        "breaks": explain.breaks,
        "reasons": explain.reasons,
        "disagrees": explain.disagrees,
    }


def _recompile(recompile: Recompile) -> Json:
    return {
        "cause": recompile.cause,
        "guard": recompile.guard,
        "input": recompile.input,
        "dimension": recompile.dimension,
        "path": recompile.path,
        "line": recompile.line,
        "compilations": recompile.compilations,
        "caused": recompile.caused,
        "later_calls": recompile.later_calls,
        "remedy": recompile.remedy,
        "verified_compilations": recompile.verified_compilations,
        "kind": recompile.kind,
        "name": recompile.name,
        "varied": recompile.varied,
        "limit": recompile.limit,
        "at_limit": recompile.at_limit,
        "tried": [
            {"text": tried.text, "compilations": tried.compilations, "detail": _text(tried.detail)}
            for tried in recompile.tried
        ],
    }


def _sweep(sweep: Sweep) -> Json:
    return {
        "varied": sweep.varied,
        "automatic": sweep.automatic,
        "calls": sweep.calls,
        "compilations": sweep.compilations,
        "detail": _text(sweep.detail),
        "verified_compilations": sweep.verified_compilations,
        "steps": [{"compilations": step.compilations, "changed": step.changed} for step in sweep.steps],
        "breaks": [_break(entry) for entry in sweep.breaks],
    }


def _numerics(numerics: Numerics | None) -> Json | None:
    if numerics is None:
        return None
    return {
        "equal": numerics.equal,
        "max_abs_diff": _number(numerics.max_abs_diff),
        "tolerance": numerics.tolerance,
        "detail": _text(numerics.detail),
        "mutated": list(numerics.mutated),
        "diverges": numerics.diverges,
    }


def _verification(verification: Verification | None) -> Json | None:
    if verification is None:
        return None
    return {
        "fixes": list(verification.fixes),
        "graphs": verification.graphs,
        "breaks": verification.breaks,
        "fullgraph_passes": verification.fullgraph_passes,
        "numerics": _numerics(verification.numerics),
        "grade": verification.grade,
        "detail": _text(verification.detail),
        "minimal": None if verification.minimal is None else list(verification.minimal),
        "dropped": [{"fix": dropped.fix, "reason": dropped.reason} for dropped in verification.dropped],
    }


def _comparison(comparison: Comparison | None) -> Json | None:
    if comparison is None:
        return None
    return {
        "base": comparison.base,
        "summary": _summary(comparison.summary),
        "dynamic": None if comparison.dynamic is None else [_run(run) for run in comparison.dynamic],
        "new": list(comparison.new),
        "unchanged": list(comparison.unchanged),
        "fixed": [_finding(finding) for finding in comparison.fixed],
        "not_compared": comparison.not_compared,
    }


def _number(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else None


def _text(value: str) -> str | None:
    return value or None
