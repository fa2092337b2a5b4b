"""What a library offers in objects that are no modules: their calls and their methods."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call


def test_public_objects_that_are_called_with_tensors_are_regions(events):
    found = events("""
        import torch
        from diffusers import DiffusionPipeline
        from torch import Tensor

        __all__ = ["Accuracy", "Crop", "Resize", "Explainer", "Attack", "Pictures", "Lookup"]

        class Accuracy:
            def __init__(self, threshold: float):
                self.threshold = threshold

            def __call__(self, scores: Tensor, labels: Tensor):
                print("called")
                return ((scores > self.threshold) == labels).float().mean()

            def resampled(self, scores: Tensor):
                return self(scores[torch.randint(4, (4,))], scores)

        class Crop:
            def __call__(self, image: Tensor, mask: Tensor):
                print("in a data pipeline")
                return image[self.start() :], mask

            def start(self):
                return torch.randint(4, (1,)).item()

        class Resize:
            def __call__(self, image: Tensor, size: int):
                print("in one, too")
                return image[:size]

        class Explainer:
            def __init__(self, scored: torch.nn.Module):
                self.scored = scored

            def __call__(self, x: Tensor, labels: Tensor):
                print("around a model")
                return self.scored(x)

        class Attack:
            def __call__(self, x: Tensor, labels: Tensor):
                return self.steepest(x, labels)

            def steepest(self, x: Tensor, labels: Tensor):
                print("calls what only code around a model does")
                labels.sum().backward()
                return x.grad

        class Pictures(DiffusionPipeline):
            def __call__(self, embeddings: Tensor, latents: Tensor):
                print("what another package makes of it")
                return latents

        class Lookup:
            def __call__(self, name: str):
                print("of a text")
                return name

        class Hidden:
            def __call__(self, x: Tensor):
                print("not offered")
                return x
    """)
    printed = [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert printed == ["Accuracy.__call__"]


def test_a_call_that_runs_the_forward_of_a_subclass_is_a_region(events):
    found = events("""
        import torch

        __all__ = ["Loss", "Distance", "Attack", "Several", "Step"]

        class Loss:
            def __call__(self, *inputs):
                return self.forward(*inputs)

            def forward(self, *inputs):
                raise NotImplementedError

        class Distance(Loss):
            def forward(self, x, y):
                print("called")
                return x.exp() - y.exp()

        class Attack:
            def __init__(self, name, model):
                self.model = model

            def __call__(self, x, y):
                return self.forward(x, y)

        class Several(Attack):
            def __init__(self, attacks):
                super().__init__("several", attacks[0].model)

            def forward(self, x, y):
                print("around a model")
                return x.exp() - y.exp()

        class Step:
            def forward(self, x, y):
                print("of something else")
                return x.exp() - y.exp()
    """)
    printed = [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert printed == ["Distance.forward"]


def test_methods_of_public_objects_that_only_compute_are_regions(events):
    found = events("""
        import torch
        from torch import Tensor

        __all__ = ["Gain", "Crop", "Solver"]

        class Gain:
            def __init__(self, top: float):
                self.top = top

            def normalize(self, x: Tensor):
                print("computes")
                return self._clipped(x) / self.top

            def _clipped(self, x: Tensor):
                return x.clamp(max=self.top)

            def store(self, x: Tensor):
                print("changes the object")
                self.last = x
                return x

            def noisy(self, x: Tensor):
                print("draws")
                return x + torch.randn(4)

            def scaled(self, x: Tensor, by: float):
                print("takes more than tensors")
                return x * by

        class Crop:
            def __call__(self, image: Tensor):
                return self.cut(image)

            def cut(self, image: Tensor):
                print("in a data pipeline")
                return image[1:]

        class Solver:
            def __init__(self, model):
                self.model = model

            def step(self, x: Tensor):
                print("around a model")
                return self.model(x)

        class Hidden:
            def normalize(self, x: Tensor):
                print("not offered")
                return x
    """)
    printed = [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert printed == ["Gain.normalize"]


DISTRIBUTIONS = """
import torch
from torch.distributions import Distribution
from torch.distributions.utils import lazy_property

__all__ = ["Scores", "Chain"]


class Scores(Distribution):
    def __init__(self, scores, lengths=None):
        self.scores = {scores}
        self.lengths = scores.new_full((2,), 3) if lengths is None else lengths

    @lazy_property
    def total(self):
        raise NotImplementedError

    @property
    def best(self):
        return self.scores.max(){best}

    def log_prob(self, value):
        return self.scores + {probability}

    def named(self, name):
        print(name)
        return self.scores

    def backward(self, total):
        return torch.autograd.grad(total, self.scores)[0]

    @lazy_property
    def marginals(self):
        return self.backward(self.total.sum())


class Chain(Scores):
    @lazy_property
    def total(self):
        return self.scores.logsumexp(-1)
"""


@pytest.mark.parametrize(
    ("scores", "best", "probability", "found"),
    [
        ("scores", "", "value", []),
        ("scores.requires_grad_()", "", "value", [("GD501", "Scores.__init__")]),
        ("scores", ".item()", "value", [("GD211", "Scores.best")]),
        ("scores", "", "(value if value.sum() > 0 else 0)", [("GD201", "Scores.log_prob")]),
    ],
)
def test_distributions_are_made_and_read_in_compiled_code(tmp_path, scores, best, probability, found):
    file = tmp_path / "scores.py"
    file.write_text(DISTRIBUTIONS.format(scores=scores, best=best, probability=probability))
    findings = analyse([(file, file.name)]).findings
    assert {(f.rule, f.function) for f in findings} == {("GD501", "Scores.backward"), *found}


def test_what_dynamo_does_with_a_distribution_that_compiled_code_makes(splits):
    torch = pytest.importorskip("torch")
    plain = DISTRIBUTIONS.format(scores="scores", best="", probability="value")
    uses = "\n\ndef f(x):\n    made = Chain(x)\n    return made.best + made.log_prob(x) + made.total.sum(){more}\n"
    assert not splits(plain + uses.format(more=""), "f", torch.rand(2, 3))
    assert splits(plain + uses.format(more=" + made.marginals"), "f", torch.rand(2, 3, requires_grad=True))


LABELLED = """
import torch

__all__ = ["Labelled"]


class Labelled(torch.Tensor):
    def __new__(cls, x, labels):
        return super().__new__(cls, x)

    def __init__(self, x, labels):
        self._labels = labels

    @property
    def labels(self):
        return self._labels

    def find(self, other: "Labelled"):
        {statement}
        return self * other
"""


@pytest.mark.parametrize(
    ("statement", "rules"),
    [
        ("if self.shape[0] > 2 and self.dtype == torch.float32: return self", []),
        ("if self.ndim > 2 or self.labels is None: return self", []),
        ("if self.labels == other.labels: return self", []),
        ("if self.sum() > 0: return self", ["GD201"]),
        ("if (self > other).any() or self.labels: return self", ["GD201"]),
        ("if (1 - self).any(): return self", ["GD201"]),
        ("if super().sum() > 0: return self", ["GD201"]),
        ("return self.as_subclass(torch.Tensor)", ["GD405"]),
        ("return torch.rand(3).as_subclass(Labelled)", []),
        ("made = torch.rand(3).as_subclass(Labelled) * 2; return made[1:].as_subclass(Labelled)", ["GD405"]),
        ("return torch.rand(3).as_subclass(Labelled).abs().as_subclass(Labelled)", ["GD405"]),
        ("return torch.rand(3).as_subclass(Labelled) * torch.rand(3)", []),
    ],
)
def test_methods_of_subclasses_of_tensors_are_regions(tmp_path, statement, rules):
    torch = pytest.importorskip("torch")
    file = tmp_path / "labelled.py"
    file.write_text(LABELLED.format(statement=statement))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == rules
    names: dict = {}
    exec(file.read_text(), names)
    labelled = names["Labelled"](torch.rand(3), ["x"])
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported) if rules else nullcontext():
        torch.compile(lambda x: x.find(x), backend="eager", fullgraph=True)(labelled)


def test_plain_objects_that_hold_tensors_are_read_in_compiled_code(events):
    found = events("""
        import numpy as np
        import torch
        from dataclasses import dataclass
        from torch import Tensor

        __all__ = ["Pose", "Box", "Rows", "Running", "Sizes", "Explainer", "saved"]

        class Pose:
            def __init__(self, angle: Tensor, name: str = ""):
                self.angle = angle
                self.name = name

            @property
            def inverse(self):
                print("inverse")
                return -self.angle

            def turned(self, by: Tensor):
                print("turned")
                return self.angle * by

            def named(self, name):
                print("named")
                return self.angle

            def normalize(self):
                print("changes itself")
                self.angle = self.angle / 2
                return self.angle

            def moved(self):
                print("changes itself by name")
                for name, value in self.__dict__.items():
                    setattr(self, name, value)
                return self

            def jitter(self):
                print("draws")
                return self.angle + torch.rand(3)

            def array(self):
                print("array")
                return np.asarray(self.angle.cpu().numpy())

        @dataclass
        class Box:
            corners: Tensor

            def area(self):
                print("area")
                return self.corners.prod()

        class Rows:
            def __init__(self, rows: Tensor):
                self.rows = rows

            def __getitem__(self, index):
                return self.rows[index]

            def total(self):
                print("a dataset")
                return self.rows.sum()

        class Sizes:
            def __init__(self, size: int):
                self.size = size

            def total(self):
                print("no tensor")
                return torch.zeros(self.size)

        class Explainer:
            def __init__(self, model, rows: Tensor):
                self.model, self.rows = model, rows

            def total(self):
                print("made with a model")
                return self.rows.sum()

        def saved(box: Box):
            print("saved")
            return box.corners * 2
    """)
    printed = [e.args[0].value for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert sorted(printed) == ["area", "inverse", "saved", "turned"]
