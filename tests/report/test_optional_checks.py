"""What the reports say of parts, layers, a training step and the device."""

import json
from dataclasses import replace

from graphdoctor.model.audit import Audit, Audited, Deviation
from graphdoctor.model.export import Exported
from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import DeviceChecks, DynamicRun, Hint, Ladder, Numerics, Stage, Training
from graphdoctor.model.submodules import Blocks, ModuleNode, ModuleVerdict, Readiness
from graphdoctor.report import optional_checks
from graphdoctor.report.json_format import reader, writer
from graphdoctor.report.markdown import document
from graphdoctor.report.text import terminal, tree_lines
from graphdoctor.report.text.look import Look

RUN = DynamicRun(
    "Net",
    "train",
    "cpu",
    "ok",
    modules=(
        ModuleNode("", "Net", "partly", 10, 0.8, 1, 1),
        ModuleNode("encoder", "Encoder", "compiled", 8, 1.0, 0, 0),
        ModuleNode("encoder.linear", "Linear", "compiled", 8, 1.0, 0, 0),
        ModuleNode("head", "Head", "eager", 2, 0.0, 1, 0),
        ModuleNode("drop", "Dropout", "no-operators", 0, None, 0, 0),
    ),
    blocks=(
        Blocks("Block", tuple("abcdefghij"), 8, at_limit=True),
        Blocks("Layer", ("a", "b"), 0, alone=1, alone_at_limit=False),
        Blocks("Quiet", ("a", "b"), 0),
    ),
    readiness=Readiness(
        (ModuleVerdict("encoder", "Encoder", 8, True),),
        (
            ModuleVerdict("head", "Head", 2, False, "print()", "net.py", 7),
            ModuleVerdict("", "Net", 10, False, "print()", "net.py", 9),
        ),
        2,
    ),
    ladder=Ladder((Stage("eager", "ok"), Stage("aot_eager", "failed", "AOTAutograd", "no rule", "net.py", 3))),
    audit=Audit(
        (
            Audited("eager", "same", "Dynamo"),
            Audited("aot_eager", "differs", "AOTAutograd", (Deviation("outputs", "output: 1 and 2"),)),
        ),
        "encoder",
    ),
    export=(Exported(True, "ok", 5), Exported(False, "failed", error="why", path="net.py", line=3, rule="GD201")),
    training=Training("sgd", True, {"forward": 1, "backward": 2, "step": 0}, Numerics(True, 0.0, "")),
    device_checks=DeviceChecks(hints=(Hint("slow", "do this"),), unchecked=("CUDA graphs",)),
)


def test_every_part_has_its_sentence() -> None:
    assert optional_checks.lines(RUN) == [
        "10 blocks of class Block: 8 compilations in all, then the recompile limit: the other blocks run uncompiled",
        "2 blocks of class Layer: part of their caller's graphs; each compiled for itself: 1 compilation",
        "compiles alone with fullgraph=True: encoder (Encoder) with 8 operators",
        "head (Head) does not compile alone at net.py:7: print()",
        "backends that work: eager",
        "backend aot_eager fails in AOTAutograd at net.py:3: no rule",
        "audit: the same as without compiling: backend eager",
        "audit: aot_eager (AOTAutograd) changes the answer: outputs: output: 1 and 2; the first submodule whose outputs "
        "differ is encoder",
        "torch.export(strict=True) works: 5 operators, the same outputs",
        "torch.export(strict=False) fails at net.py:3 (GD201): why",
        "training step (forward, backward by compiled autograd, step of sgd): 1 graph in forward, 2 graphs in backward; "
        "parameters and gradients against eager: equal (largest difference 0)",
        "speed: slow; do this",
        "not checked on cpu: CUDA graphs",
    ]
    assert optional_checks.lines(RUN, first=False) == optional_checks.lines(RUN)[:-1]


def test_the_tree_opens_what_is_not_compiled_as_a_whole() -> None:
    assert tree_lines.lines(RUN, full=False) == [
        "the model (Net): 80 % of 10 operators compiled, 1 graph break, 1 compilation",
        "  encoder (Encoder): compiled, 8 operators",
        "  head (Head): eager, 2 operators, 1 graph break",
    ]
    assert tree_lines.lines(RUN, full=True)[2:4] == [
        "    linear (Linear): compiled, 8 operators",
        "  head (Head): eager, 2 operators, 1 graph break",
    ]
    assert tree_lines.lines(RUN, full=True)[-1] == "  drop (Dropout): no operators"


def test_a_compiled_model_has_no_tree_unless_it_is_asked_for() -> None:
    whole = replace(RUN, modules=(ModuleNode("", "Net", "compiled", 10, 1.0, 0, 1), RUN.modules[1]))
    assert tree_lines.lines(whole, full=False) == []
    assert len(tree_lines.lines(whole, full=True)) == 2


def test_text_and_markdown_show_it_and_json_reads_back(rich: Diagnosis) -> None:
    diagnosis = replace(rich, dynamic=(RUN,))
    assert "      encoder (Encoder): compiled, 8 operators\n" in terminal.render(diagnosis, Look(verbose=True))
    assert "drop (Dropout)" in terminal.render(diagnosis, Look(tree=True))
    short = " ".join(terminal.render(diagnosis).split())
    assert "encoder (Encoder)" not in short and "not checked on cpu" not in short
    assert "10 blocks of class Block: 8 compilations in all, then the recompile limit" in short
    assert "backend aot_eager fails in AOTAutograd" in short
    assert "Parts of the model" in document.render(diagnosis)
    read = reader.read(writer.render(diagnosis))
    assert read.dynamic == (RUN,)
    assert "repro" not in json.loads(writer.render(diagnosis))["dynamic"][0]["ladder"]


def test_lists_of_blocks_of_one_class_share_its_compilations() -> None:
    lists = tuple(Blocks("Expert", tuple(f"{block}.experts.{n}" for n in range(4)), 2) for block in range(2))
    assert optional_checks.lines(replace(RUN, blocks=lists))[0] == (
        "8 blocks of class Expert in 2 lists: 2 compilations in all"
    )
