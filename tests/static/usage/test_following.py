"""What was done to an object is known wherever the program takes it: helpers, objects, containers, other files."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

HEAD = "import functools, threading\nimport torch\nimport torch.multiprocessing as mp\n\n\n"

#: Ways of a model from ``torch.compile`` to the ``generate`` in the last line.
WAYS = {
    "a helper that gives it back": """
        def fast(net):
            return torch.compile(net)


        def main(net, x):
            model = fast(net)
            model.generate(x)
        """,
    "two helpers": """
        def inner(net):
            return torch.compile(net)


        def outer(net):
            return inner(net).eval()


        def main(net, x):
            outer(net).generate(x)
        """,
    "an argument by name": """
        def show(x, *, model):
            model.generate(x)


        def main(net, x):
            show(x, model=torch.compile(net))
        """,
    "arguments handed on": """
        def show(model, x):
            model.generate(x)


        def call(function, *args, **kwargs):
            return function(*args, **kwargs)


        def main(net, x):
            call(show, torch.compile(net), x=x)
        """,
    "an attribute that another method sets": """
        class Trainer:
            def __init__(self, net):
                self.net = net

            def setup(self):
                self.net = torch.compile(self.net)

            def run(self, x):
                self.setup()
                self.net.generate(x)
        """,
    "an attribute that only another method sets": """
        class Handler:
            def __init__(self):
                self.net = None

            def handle(self, x):
                return self.net.generate(x)

            def initialize(self, path):
                self.net = torch.compile(torch.load(path))
        """,
    "an attribute that a method sets through another one": """
        class Handler:
            def handle(self, x):
                return self.net.generate(x)

            def load(self, path):
                self._load(path)

            def _load(self, path):
                self.net = torch.compile(torch.load(path))
        """,
    "an attribute that a method sets with what a function gives": """
        def load(path):
            return torch.compile(torch.load(path))


        class Handler:
            def handle(self, x):
                return self.net.generate(x)

            def initialize(self, path):
                self.net = load(path)
        """,
    "a class method of a base that is not here": """
        class Net(ModelMixin):
            def __init__(self, width):
                self.inner = torch.nn.Linear(width, width)

            def generate(self, x):
                return self(x).argmax(-1)


        def main(path, x):
            torch.compile(Net.from_pretrained(path)).generate(x)
        """,
    "a method of a base class": """
        class Base:
            def __init__(self, net):
                self.net = torch.compile(net)


        class Trainer(Base):
            def __init__(self, net, rate):
                super().__init__(net)
                self.rate = rate

            def run(self, x):
                self.net.generate(x)
        """,
    "a property": """
        class Holder:
            def __init__(self, net):
                self._net = net

            @property
            def net(self):
                return torch.compile(self._net)


        def main(net, x):
            Holder(net).net.generate(x)
        """,
    "a class method": """
        class Factory:
            @classmethod
            def build(cls, net):
                return cls.wrap(net)

            @staticmethod
            def wrap(net):
                return torch.compile(net)


        def main(net, x):
            Factory.build(net).generate(x)
        """,
    "a dict": """
        def build(net):
            return {"model": torch.compile(net), "step": 0}


        def main(net, x):
            state = build(net)
            state["model"].generate(x)
        """,
    "a dict that is filled": """
        def main(net, x):
            state = {}
            state["model"] = torch.compile(net)
            state["model"].generate(x)
        """,
    "a tuple": """
        def build(net):
            return torch.compile(net), 3


        def main(net, x):
            model, steps = build(net)
            model.generate(x)
        """,
    "a loop over models": """
        def main(net, x):
            for name, model in [("eager", net), ("compiled", torch.compile(net))]:
                model.generate(x)
        """,
    "a partial": """
        compile_fully = functools.partial(torch.compile, fullgraph=True)


        def main(net, x):
            compile_fully(net).generate(x)
        """,
    "a partial of a helper": """
        def show(model, x):
            model.generate(x)


        def main(net, x):
            run = functools.partial(show, torch.compile(net))
            run(x)
        """,
    "an alias": """
        fast = torch.compile


        def main(net, x):
            fast(net).generate(x)
        """,
    "a lambda": """
        def main(net, x):
            show = lambda model: model.generate(x)
            show(torch.compile(net))
        """,
    "a closure": """
        def main(net, x):
            model = torch.compile(net)

            def show():
                model.generate(x)

            show()
        """,
    "a global": """
        MODEL = None


        def load(net):
            global MODEL
            MODEL = torch.compile(net)


        def main(net, x):
            load(net)
            MODEL.generate(x)
        """,
    "spawned processes": """
        def worker(rank, model, x):
            model.generate(x)


        def main(net, x):
            mp.spawn(worker, args=(torch.compile(net), x), nprocs=2)
        """,
    "a thread": """
        def worker(model, x):
            model.generate(x)


        def main(net, x):
            threading.Thread(target=worker, args=(torch.compile(net), x)).start()
        """,
    "a flag that is passed": """
        def build(net, fast=False):
            if not fast:
                return net
            return torch.compile(net)


        def main(net, x):
            build(net, fast=True).generate(x)
        """,
    "a decorator": """
        def compiled(function):
            def build(net):
                return torch.compile(function(net))

            return build


        @compiled
        def build(net):
            return net.eval()


        def main(net, x):
            build(net).generate(x)
        """,
    "getattr and setattr": """
        def main(holder, net, x):
            holder.model = torch.compile(net)
            getattr(holder, "model").generate(x)
        """,
}

#: Models that are not compiled where ``generate`` is called, though something like them is.
OTHERS = {
    "the model inside": """
        def main(net, x):
            model = torch.compile(net)
            model(x)
            net.generate(x)
        """,
    "a flag that is off": """
        def build(net, fast=False):
            if fast:
                net = torch.compile(net)
            return net


        def main(net, x):
            build(net).generate(x)
        """,
    "the other one of a dict": """
        def main(net, x):
            models = {"eager": net, "compiled": torch.compile(net)}
            models["eager"].generate(x)
        """,
    "a copy from before": """
        import copy


        def main(net, x):
            other = copy.deepcopy(net)
            net.compile()
            other.generate(x)
        """,
    "the other side of a condition": """
        def main(net, x, fast):
            model = torch.compile(net) if fast else net
            if not fast:
                model.generate(x)
        """,
    "what a method loads anew before it compiles": """
        class Backend:
            def load(self, path):
                self.read(path)
                self.speed_up()

            def read(self, path):
                self.net = torch.load(path)

            def speed_up(self):
                self.net = torch.compile(self.net)
        """,
    "a key that is taken out before": """
        def main(net, settings):
            options = settings["compile"]
            if options["enable"]:
                del options["enable"]
                options.pop("level")
                net = torch.compile(net, **options)
            return net
        """,
    "another object of the class": """
        class Holder:
            def __init__(self, net):
                self.net = net


        def main(net, x):
            one, other = Holder(torch.compile(net)), Holder(net)
            other.net.generate(x)
            return one
        """,
}


def found(folder: Path, source: str, **others: str) -> list[tuple[str, int]]:
    """The rules and lines that are reported of ``source``, a file beside ``others``."""
    for name, text in others.items():
        (folder / f"{name}.py").write_text(HEAD + textwrap.dedent(text))
    file = folder / "script.py"
    file.write_text(HEAD + textwrap.dedent(source))
    result = analyse([(file, "script.py")])
    assert [each.reason for each in result.files] == [None]
    return [(finding.rule, finding.location.line) for finding in result.findings]


def line_of(source: str, words: str) -> int:
    return next(n for n, line in enumerate((HEAD + textwrap.dedent(source)).splitlines(), 1) if words in line)


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_model_is_known_behind(tmp_path: Path, way: str) -> None:
    assert found(tmp_path, WAYS[way]) == [("GD606", line_of(WAYS[way], ".generate(x)"))]


@pytest.mark.parametrize("way", OTHERS)
def test_it_is_not_taken_for(tmp_path: Path, way: str) -> None:
    assert found(tmp_path, OTHERS[way]) == []


@pytest.mark.parametrize("statement", ["from helpers import fast", "from helpers import *", "import helpers"])
def test_helpers_of_another_file_are_followed(tmp_path: Path, statement: str) -> None:
    call = "helpers.fast" if statement == "import helpers" else "fast"
    source = f"{statement}\n\n\ndef main(net, x):\n    {call}(net).generate(x)\n"
    helper = "from parts import compile_it\n\n\ndef fast(net):\n    return compile_it(net)\n"
    parts = "def compile_it(net):\n    return torch.compile(net)\n"
    assert found(tmp_path, source, helpers=helper, parts=parts) == [("GD606", line_of(source, ".generate(x)"))]


SAMPLER = """
import torch.nn as nn


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)

    def size(self):
        return 4


class Sampler(nn.Module):
    def __init__(self, model, *, steps=3):
        super().__init__()
        self.model, self.steps = model, steps

    def forward(self, x):
        return self.model(x)

    def predict(self, x):
        return self.model(x)

    def loop(self, x):
        return [self.predict(x) for _ in range(self.steps)]

    def sample(self, x, quick=False):
        run = self.predict if quick else self.loop
        return run(x)

    def width(self):
        return self.model.size()
"""


@pytest.mark.parametrize(("method", "is_found"), [("sample", True), ("width", False)])
def test_layers_are_known_that_the_class_of_another_file_is_given(tmp_path: Path, method: str, is_found: bool) -> None:
    source = "from net import Sampler, Unet\n\nnet = torch.compile(Sampler(Unet(), steps=2))\nnet(x)\nnet.METHOD(x)\n"
    source = source.replace("METHOD", method)
    expected = [("GD606", line_of(source, f"net.{method}"))] if is_found else []
    assert found(tmp_path, source, net=SAMPLER) == expected


def test_a_recursion_ends(tmp_path: Path) -> None:
    source = """
        def wrap(net, depth):
            return torch.compile(net) if depth == 0 else wrap(net, depth - 1)


        def main(net, x):
            wrap(net, 3).generate(x)
        """
    assert found(tmp_path, source) == []


def test_a_chain_of_many_calls_costs_no_more_than_its_budget(tmp_path: Path) -> None:
    steps = "".join(f"def f{n}(x):\n    f{n + 1}(x)\n    f{n + 1}(x)\n\n\n" for n in range(30))
    source = f"{steps}def f30(x):\n    return torch.compile(x)\n\n\nf0(len)\n"
    assert found(tmp_path, source) == []
