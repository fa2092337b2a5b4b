"""The usage walker: which calls worked on an object, under which conditions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.usage.events import NameUse, Operation, Setting, Timed, Tried, Use, same_run
from graphdoctor.static.usage.script import usage_events
from graphdoctor.syntax.module import SourceModule

Uses = Callable[[str], dict[str, Use]]


@pytest.fixture
def uses(tmp_path: Path) -> Uses:
    """``uses(source)``: the last call of each name."""

    def run(source: str) -> dict[str, Use]:
        found = [e for e in usage_events(_module(tmp_path, source)) if isinstance(e, Use)]
        return {each.step.name: each for each in found}

    return run


def _module(folder: Path, source: str):  # type: ignore[no-untyped-def]
    file = folder / "script.py"
    file.write_text("import torch\n" + textwrap.dedent(source))
    return SourceModule("script.py", file, file.read_text(), "utf-8")


def names(steps: tuple[Operation, ...]) -> list[str]:
    return [step.name for step in steps]


def test_an_object_keeps_its_steps_under_every_name(uses: Uses) -> None:
    found = uses("model = Net()\nother = model\nother.cuda()\nmodel = torch.compile(model)\nmodel(1)\n")
    receiver = found[".__call__"].step.receiver
    assert receiver is not None
    assert names(receiver.steps) == ["Net", ".cuda", "torch.compile"]


def test_wrapping_leaves_the_original_as_it_is(uses: Uses) -> None:
    found = uses("model = Net()\nfast = torch.compile(model)\nmodel.generate(1)\n")
    receiver = found[".generate"].step.receiver
    assert receiver is not None and receiver.find("torch.compile") is None


def test_a_method_behind_a_call_is_not_a_name_of_the_module(uses: Uses) -> None:
    assert {"torch.nn.Linear", ".to"} <= uses("model = torch.nn.Linear(2, 2).to('cuda')\ntorch.compile(model)\n").keys()


def test_both_arms_of_an_if_count_each_with_its_condition(uses: Uses) -> None:
    found = uses("model = Net()\nif fast:\n    model = torch.compile(model)\nmodel.generate(1)\n")
    receiver = found[".generate"].step.receiver
    step = receiver.find("torch.compile") if receiver is not None else None
    assert step is not None and step.path == (("fast", True),)


def test_an_arm_that_returns_leaves_nothing_behind(uses: Uses) -> None:
    source = "def build(fast):\n    model = Net()\n    if fast:\n        model = torch.compile(model)\n        return model\n"
    receiver = uses(source + "    model.generate(1)\n")[".generate"].step.receiver
    assert receiver is not None and receiver.find("torch.compile") is None


@pytest.mark.parametrize(
    ("one", "other", "sure"),
    [
        ((), (), "certain"),
        ((("a", True),), (("a", True),), "certain"),
        ((("a", True),), (), "likely"),
        ((("a", True),), (("a", False),), None),
        ((("a", True),), (("b", True),), None),
    ],
)
def test_together(one: tuple[tuple[str, bool], ...], other: tuple[tuple[str, bool], ...], sure: str | None) -> None:
    assert same_run(one, other) == sure


def test_unrelated_conditions_are_what_the_rule_says() -> None:
    assert same_run((("a", True),), (("b", True),), "likely") == "likely"
    assert same_run((("a", True),), (("a", False),), "likely") is None


def test_methods_see_what_init_stored(uses: Uses) -> None:
    source = """
        class Trainer:
            def run(self):
                self.model.generate(1)

            def __init__(self):
                self.model = torch.compile(Net())
    """
    receiver = uses(source)[".generate"].step.receiver
    assert receiver is not None and receiver.find("torch.compile") is not None


def test_a_parameter_is_not_the_global_of_the_same_name(uses: Uses) -> None:
    found = uses("model = torch.compile(Net())\n\n\ndef run(model):\n    model.generate(1)\n")
    receiver = found[".generate"].step.receiver
    assert receiver is not None and receiver.steps == ()


def test_the_deferred_form_of_compile(uses: Uses) -> None:
    found = uses("model = torch.compile(dynamic=True)(Net())\nmodel.generate(1)\n")
    receiver = found[".generate"].step.receiver
    step = receiver.find("torch.compile") if receiver is not None else None
    assert step is not None and step.option("dynamic") is True


def test_settings_and_mentions(tmp_path: Path) -> None:
    source = "from torch import _dynamo as d\nd.config.optimize_ddp = False\n"
    found = list(usage_events(_module(tmp_path, "torch.compile\n" + source)))
    assert [e.name for e in found if isinstance(e, Setting)] == ["torch._dynamo.config.optimize_ddp"]
    assert "torch._dynamo" in [e.name for e in found if isinstance(e, NameUse)]


def test_what_ran_between_two_readings_of_a_clock(tmp_path: Path) -> None:
    source = "import time\nf = torch.compile(g)\nt = time.time()\nf(1)\nend = time.time()\nprint(end - t)\n"
    [timed] = [e for e in usage_events(_module(tmp_path, source)) if isinstance(e, Timed)]
    assert [step.name for step in timed.inside] == [".__call__"] and not timed.looped


def test_what_a_try_calls_also_in_a_helper(tmp_path: Path) -> None:
    source = """
        def helper(model):
            return torch.compile(model)

        try:
            model = helper(Net())
        except Exception:
            model.generate(1)
    """
    [tried] = [e for e in usage_events(_module(tmp_path, source)) if isinstance(e, Tried)]
    assert [step.name for step in tried.inside] == ["Net", "helper", "torch.compile"]


def test_a_file_without_the_compiler_has_no_events(tmp_path: Path) -> None:
    assert list(usage_events(_module(tmp_path, "import re\nre.compile('a')\n"))) == []


def test_the_engine_reports_what_the_rules_say(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(
        "import torch\n\n\ndef main(net):\n    model = torch.compile(net, mode='max_autotune')\n    return model\n"
    )
    [finding] = analyse([(file, "train.py")]).findings
    assert (finding.rule, finding.location.line, finding.function) == ("GD610", 5, "main")
    assert "did you mean 'max-autotune'?" in finding.message


def test_guarded_lines_of_other_conditions_are_left_alone(tmp_path: Path) -> None:
    source = """
        from torch.nn.parallel import DistributedDataParallel as DDP


        def main(net, ddp, fast):
            if ddp:
                net = DDP(net)
            if fast:
                net = torch.compile(net, fullgraph=True)
            return net
    """
    module = _module(tmp_path, source)
    assert analyse([(module.file, "script.py")]).findings == ()


def test_a_compile_with_positional_arguments_is_the_models_own(uses: Uses) -> None:
    # torch.nn.Module.compile("adam") raises: it hands its arguments on to torch.compile, which takes keywords only.
    found = uses("from models import Net\nmodel = Net()\nmodel.compile('adam', 'mse')\nmodel.fit(1)\n")
    assert ".compile" not in found
    assert ".compile" in uses("from models import Net\nmodel = Net()\nmodel.compile(mode='default')\n")


def test_a_flag_is_the_same_behind_not(uses: Uses) -> None:
    found = uses("""
    def main(args, model):
        model.half() if args.plain else None
        if not args.plain:
            torch.compile(model)
    """)
    assert same_run(found["torch.compile"].step.path, found[".half"].step.path, "likely") is None


def test_a_part_is_the_same_object_in_both_arms(uses: Uses) -> None:
    found = uses("""
    def main(args, model):
        if args.use:
            return torch.load(args.path)
        torch.compile(model)
        torch.save(model.state_dict(), args.path)
    """)
    assert found["torch.load"].step.args[0].number == found["torch.save"].step.args[1].number != 0


def test_a_cast_gives_what_it_gets(uses: Uses) -> None:
    found = uses("from typing import cast\nmodel = cast(Net, torch.compile(Net()))\nmodel.generate(1)\n")
    receiver = found[".generate"].step.receiver
    assert receiver is not None and names(receiver.steps) == ["Net", "torch.compile"]
