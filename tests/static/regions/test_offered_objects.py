"""What a library offers in objects that are no modules: their calls and their methods."""

from __future__ import annotations

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
