"""Calls into modules that several files import give each file what it would find alone."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from graphdoctor.lint.audience import Audience, Checks
from graphdoctor.lint.catalog import rules
from graphdoctor.lint.engine import Analysis
from graphdoctor.lint.work import Work
from graphdoctor.static.domain.program import ModuleInfo, Scope
from graphdoctor.static.domain.project import Project
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.state.event_sink import EventSink
from graphdoctor.static.memo.replay import CallCache
from graphdoctor.static.regions.regions import interpret
from graphdoctor.syntax.module import SourceModule

MODEL = """
    import torch.nn as nn
    from pkg.helper import Cache, help_out
    from pkg.{config} import Config


    class Net(nn.Module):
        def __init__(self, config: Config):
            super().__init__()
            self.config = config

        def forward(self, x):
            cache = Cache(self.config)
            y = help_out(self.config, x, cache)
            if cache.rows:
                print("rows")
            return y
"""
BASE = """
    class Base:
        loud = False
        kind = "plain"
"""
CONFIG = """
    from pkg.base import Base

    class Config(Base):
        {attribute}
"""
#: Enough to be worth telling again.
WORK = "\n".join(f"        y = y + x.mean() * {n} - x.sum() / {n + 1}" for n in range(20))
HELPER = f"""
    seen = False

    class Cache:
        def __init__(self, config):
            self.rows = None
            self.kind = config.kind

    def help_out(config, x, cache):
        y = x
{WORK}
        {{statement}}
        return y
"""


def package(folder: Path, statement: str, *attributes: str, model: str = MODEL) -> list[Path]:
    """One model file for each configuration, all of which call the same helper."""
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").touch()
    (folder / "pkg" / "base.py").write_text(textwrap.dedent(BASE))
    (folder / "pkg" / "helper.py").write_text(textwrap.dedent(HELPER.replace("{statement}", statement)))
    files = []
    for attribute in attributes:
        name = f"config_{len(files)}"
        (folder / "pkg" / f"{name}.py").write_text(textwrap.dedent(CONFIG.replace("{attribute}", attribute)))
        files.append(folder / "pkg" / f"model_{len(files)}.py")
        files[-1].write_text(textwrap.dedent(model.replace("{config}", name)))
    return files


def findings(files: list[Path]) -> list[list[tuple[str, int, str, str]]]:
    """What each file has, the files being scanned together."""
    analysis = Analysis(Work([(f, f.name) for f in files], lambda file: file.name), rules())
    found = [analysis.file(f, f.name).findings for f in files]
    return [[(f.location.path, f.location.line, f.rule, f.confidence) for f in one] for one in found]


@pytest.mark.parametrize(
    "statement",
    [
        "print(y) if config.loud else None",
        "print(y)",
        "cache.rows = [y, y]",
        "cache.rows = [y] if config.loud else []",
        "cache.config = config; print(cache.config.loud) if cache.config.loud else None",
        "y = y if getattr(config, 'quiet', None) is None else y.tolist()",
        "y = y if type(config).loud else y.nonzero()",
        "cache.other = Cache(config); cache.rows = cache.other.kind == 'odd'",
        "y = y.item() if x.sum() > 0 else y",
        "global seen; print(y) if seen else None; seen = config.loud",
    ],
)
def test_each_file_has_what_it_has_alone(tmp_path: Path, statement: str) -> None:
    files = package(tmp_path, statement, "loud = False", "loud = True", "quiet = True", "kind = 'odd'", "loud = True")
    assert findings(files) == [findings([file])[0] for file in files]
    assert findings(files[::-1]) == [findings([file])[0] for file in files[::-1]]


def test_the_class_itself_may_be_asked_for(tmp_path: Path) -> None:
    statement = "from pkg.config_1 import Config as Other; print(y) if isinstance(config, Other) else None"
    files = package(tmp_path, statement, "loud = False", "loud = False", "loud = False")
    quiet, loud, again = findings(files)
    assert [rule for _, _, rule, _ in loud] == ["GD101"]
    assert quiet == again == []


def test_what_a_call_in_a_loop_finds_is_found_for_each_caller(tmp_path: Path) -> None:
    model = MODEL.replace("            y = help_out", "            for _ in x:\n                y = help_out")
    files = package(tmp_path, "print(y)", "loud = False", "loud = False", model=model)
    first, second = findings(files)
    assert "GD101" in [rule for _, _, rule, _ in first]
    assert [rule for _, _, rule, _ in second] == [rule for _, _, rule, _ in first]


def test_a_message_names_the_function_that_the_break_costs_the_caller(tmp_path: Path) -> None:
    model = MODEL.replace("            y = help_out", "            for _ in x:\n                y = help_out")
    files = package(tmp_path, "print(y)", "loud = False", "loud = False", model=model)
    files[1].write_text(files[1].read_text().replace("class Net", "class Other"))
    assert steps(files, rules_look=True)[1] < steps(files[1:], rules_look=True)[0] / 2
    analysis = Analysis(Work([(f, f.name) for f in files], lambda file: file.name), rules())
    for file, name in zip(files, ("Net.forward", "Other.forward"), strict=True):
        (printed,) = [f for f in analysis.file(file, file.name).findings if f.rule == "GD101"]
        assert f"`{name}` runs uncompiled as a whole" in printed.message


def test_the_calls_that_lead_to_a_finding_are_those_of_the_file(tmp_path: Path) -> None:
    files = package(tmp_path, "show(y)", "loud = False", "loud = False")
    (tmp_path / "pkg" / "helper.py").open("a").write("\ndef show(y):\n    print(y)\n")
    files[1].write_text("# another line\n" + files[1].read_text().replace("class Net", "class Other"))
    assert steps(files, rules_look=True)[1] < steps(files[1:], rules_look=True)[0] / 2
    analysis = Analysis(Work([(f, f.name) for f in files], lambda file: file.name), rules())
    for file, name, first in zip(files, ("Net.forward", "Other.forward"), (14, 15), strict=True):
        (printed,) = [f for f in analysis.file(file, file.name).findings if f.rule == "GD101"]
        assert printed.function == "show"
        called = [(caller.path, caller.line, caller.function) for caller in printed.called_from]
        assert called == [(file.name, first, name), ("helper.py", 31, "help_out")]


def steps(files: list[Path], rules_look: bool = False) -> list[int]:
    """The steps that each file takes, the files being scanned together."""
    project, shared, found = Project(), CallCache(), []
    for file in files:
        source = SourceModule(file.name, file, file.read_text(), "utf-8")
        sink = Audience(Checks(rules()), []) if rules_look else EventSink()
        interpreter = Interpreter(project, sink, call_cache=shared)
        interpret(interpreter, ModuleInfo(source, f"pkg.{file.stem}", "pkg", Scope("module")), [])
        found.append(interpreter.steps)
    return found


def test_a_call_is_told_again_where_nothing_differs_that_it_reads(tmp_path: Path) -> None:
    files = package(tmp_path, "print(y) if config.loud else None", "loud = False", "width = 8", "loud = True")
    first, second, third = steps(files)
    assert second < first / 2
    assert third > first / 2


def test_names_and_tables_of_a_configuration_tell_no_calls_apart(tmp_path: Path) -> None:
    reads = "y = y if config.kind == 'odd' or type(config).kind else y * len(config.table)"
    first, second = steps(package(tmp_path, reads, "kind, table = 'odd', {'a': 'b'}", "kind, table = 'even', {}"))
    assert second < first / 2


def test_a_call_in_a_loop_is_told_again(tmp_path: Path) -> None:
    model = MODEL.replace("            y = help_out", "            for _ in range(3):\n                y = help_out")
    first, second = steps(package(tmp_path, "pass", "loud = False", "loud = False", model=model))
    assert second < first / 2


def test_a_call_whose_arguments_hold_the_class_of_one_of_them_is_told_again(tmp_path: Path) -> None:
    model = MODEL.replace("y = help_out", "cache.made_by = Cache\n            y = help_out")
    first, second = steps(package(tmp_path, "pass", "loud = False", "loud = False", model=model))
    assert second < first / 2


def test_a_call_that_makes_another_object_of_a_class_of_its_arguments_is_told_again(tmp_path: Path) -> None:
    files = package(tmp_path, "cache.other = Cache(config)", "loud = False", "loud = False")
    first, second = steps(files)
    assert second < first / 2


def test_an_object_made_of_the_class_of_an_argument_has_the_class_of_that_argument(tmp_path: Path) -> None:
    statement = "made = type(config)(); print(y) if made.loud else None"
    files = package(tmp_path, statement, "loud = False", "loud = True", "loud = False")
    assert [[rule for _, _, rule, _ in one] for one in findings(files)] == [[], ["GD101"], []]


WRAPPER = f"""
    import functools

    def wrapped(function):
        @functools.wraps(function)
        def run(self, *args, **kwargs):
            y = args[0]
{textwrap.indent(WORK, "    ")}
            print(y)
            return function(self, *args, **kwargs)

        return run
"""


def test_what_a_decorator_puts_around_a_call_is_told_again(tmp_path: Path) -> None:
    model = MODEL.replace("        def forward", "        @wrapped\n        def forward")
    model = model.replace("    from pkg.helper", "    from pkg.wrapper import wrapped\n    from pkg.helper")
    files = package(tmp_path, "pass", "loud = False", "loud = False", model=model)
    (tmp_path / "pkg" / "wrapper.py").write_text(textwrap.dedent(WRAPPER))
    assert [[rule for _, _, rule, _ in one] for one in findings(files)] == [["GD101"], ["GD101"]]
    first, second = steps(files)
    assert second < first / 2


#: What the helper computes in the constructor, outside compiled code.
CONSTRUCTED = """
    import torch.nn as nn
    from pkg.helper import Cache, help_out
    from pkg.{config} import Config


    class Net(nn.Module):
        def __init__(self, config: Config):
            super().__init__()
            self.rows = help_out(config, 1, Cache(config))

        def forward(self, x):
            if self.rows:
                print("rows")
            return x
"""


def test_what_a_constructor_calls_is_told_again(tmp_path: Path) -> None:
    first, second = steps(package(tmp_path, "y = config.kind", "quiet = 1", "quiet = 2", model=CONSTRUCTED))
    assert second < first / 2


@pytest.mark.parametrize(
    "statement", ["y = type(config).loud", "y = cache.kind == 'odd'", "cache.rows = y; y = cache.rows"]
)
def test_what_a_constructor_calls_gives_each_file_what_it_has_alone(tmp_path: Path, statement: str) -> None:
    files = package(tmp_path, statement, "loud = False", "loud = True", "kind = 'odd'", model=CONSTRUCTED)
    assert findings(files) == [findings([file])[0] for file in files]


def test_a_region_that_an_imported_function_enters_is_no_summary(tmp_path: Path) -> None:
    files = package(tmp_path, "run(x)", "quiet = 1", "quiet = 2", model=CONSTRUCTED)
    helper = tmp_path / "pkg" / "helper.py"
    helper.write_text(f"import torch\n\n\n@torch.compile\ndef run(x):\n    return x + 1\n\n{helper.read_text()}")
    first, second = steps(files)
    assert second > first / 2


def test_short_calls_are_not_kept(tmp_path: Path) -> None:
    files = package(tmp_path, "pass", "loud = False", "loud = False")
    helper = tmp_path / "pkg" / "helper.py"
    helper.write_text("class Cache:\n    rows = None\n\n\ndef help_out(config, x, cache):\n    return x + 1\n")
    first, second = steps(files)
    assert first == second


SIZES = "\n".join(f"        self.size_{n} = {n} * {n} + {n}" for n in range(20))
BASE_MODEL = f"""
import torch.nn as nn

class Model(nn.Module):
    loud = False

    def __init__(self):
        super().__init__()
        self.name = type(self).__name__
{SIZES}
        self.says = "much" if self.loud else None
"""
ONE_MODEL = """
class {name}(Model):
    loud = {loud}

    def forward(self, x):
        if self.says is not None:
            print("{name}")
        return x
"""


def family(folder: Path, **loud: bool) -> Path:
    """A file with classes of these names whose base has the constructor, in another file."""
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").touch()
    (folder / "pkg" / "base.py").write_text(BASE_MODEL)
    classes = [ONE_MODEL.format(name=name, loud=value) for name, value in loud.items()]
    file = folder / "pkg" / "models.py"
    file.write_text("from pkg.base import Model\n" + "\n".join(classes))
    return file


def test_a_constructor_is_told_again_for_the_next_class_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (one,), (two,) = (steps([family(tmp_path / "one", A=False)]), steps([family(tmp_path / "two", A=False, B=False)]))
    assert two < one * 1.5


def test_each_class_has_what_its_own_constructor_gives_it(tmp_path: Path) -> None:
    file = family(tmp_path, Quiet=False, Loud=True, Silent=False, Noisy=True)
    lines = file.read_text().splitlines()
    assert [lines[line - 1].strip() for _, line, _, _ in findings([file])[0]] == ['print("Loud")', 'print("Noisy")']


def beside(file: Path, name: str, **loud: bool) -> Path:
    """Another file with classes of these names, whose base has the same constructor."""
    other = file.with_name(name)
    classes = [ONE_MODEL.format(name=name, loud=value) for name, value in loud.items()]
    other.write_text("from pkg.base import Model\n" + "\n".join(classes))
    return other


def test_a_constructor_is_told_again_for_a_class_of_another_file(tmp_path: Path) -> None:
    one = family(tmp_path, A=False)
    first, second, third = steps([one, beside(one, "other.py", B=False), beside(one, "loud.py", C=True)])
    assert second < first / 2
    assert third > first / 2


def test_what_a_constructor_looks_up_in_a_base_of_the_file_tells_files_apart(tmp_path: Path) -> None:
    quiet = family(tmp_path, Base=False)
    quiet.write_text(quiet.read_text() + "\n\nclass Net(Base):\n    pass\n")
    loud = beside(quiet, "loud.py", Base=True)
    loud.write_text(loud.read_text() + "\n\nclass Net(Base):\n    pass\n")
    assert [bool(found) for found in findings([quiet, loud, quiet])] == [False, True, False]


@pytest.mark.parametrize("found", ["Part", "[Part]", "{'part': Part}", "make", "'plain'"])
def test_a_constructor_that_finds_code_of_the_file_is_no_other_files_constructor(tmp_path: Path, found: str) -> None:
    one = family(tmp_path, A=False)
    base = one.with_name("base.py")
    base.write_text(base.read_text() + "        self.kept = type(self).found\n")
    part = "class Part:\n    pass\n\n\ndef make():\n    pass\n"
    for file in (one, beside(one, "other.py", B=False)):
        file.write_text(f"{part}{file.read_text()}    found = {found}\n")
    first, second = steps([one, one.with_name("other.py")])
    assert (second < first / 2) == (found == "'plain'")


INNER = f"""
    def inner(x):
        print(x)
        return x + 1

    def other(x):
        return inner(x * 2) - 1

    def outer(x):
        y = x
{WORK}
        return inner(x * 2) + y
"""
TWO_CALLS = """
    import torch.nn as nn
    from pkg.helper import other, outer


    class Net(nn.Module):
        def forward(self, x):
            {first}return outer(x + 1)
"""


def test_what_an_inner_call_finds_is_of_the_outer_call_though_it_was_found_before(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "helper.py").write_text(textwrap.dedent(INNER))
    files = [tmp_path / "pkg" / "one.py", tmp_path / "pkg" / "two.py"]
    for file, first in zip(files, ("x = other(x); ", ""), strict=True):
        file.write_text(textwrap.dedent(TWO_CALLS.replace("{first}", first)))
    one, two = findings(files)
    assert one == two == findings(files[1:])[0] != []
