"""A tensor is turned into text.

What: `str(t)`, `repr(t)`, `"%s" % t`, `f"{t!r}"`, `f"{t=}"`, `ascii(t)` in compiled code. `f"{t}"`, `f"{t=:.2f}"` and
`"{}".format(t)` alone are fine.

Why: The text needs the tensor's contents. Dynamo does not trace these conversions and splits the graph.

Fix: Make the text in the code that calls the model, from the output; or use an f-string, which Dynamo delays
until the graph has run.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.old_forms import identity
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.static.domain.events import Call, Convert
from graphdoctor.static.domain.value_functions import holds_tensor, may_be_tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD216"
NAME = "text-of-tensor"
SEVERITY = "error"
GB_IDS = ("GB0033", "GB0055", "GB0059", "GB0088", "GB0156", "GB0208", "GB0569", "GB3934", "GB4880", "GB9648")
TORCH = ">=2.6"

BREAKS = (
    """\
def f(x):
    text = str(x)  # GB0059
    return x * 2
""",
    """\
def f(x):
    text = repr(x)  # GB0569
    return x * 2
""",
    """\
def f(x):
    text = "mean %s" % x.mean()  # GB0208
    return x * 2
""",
    """\
def f(x):
    text = "mean %d" % x.mean()  # GB0033
    return x * 2
""",
    """\
def f(x):
    text = f"{x!r}"  # GB0569
    return x * 2
""",
    """\
def f(x):
    text = f"{x=}"  # GB0569
    return x * 2
""",
    """\
def f(x):
    text = f"{x!s}"  # GB0059
    return x * 2
""",
    """\
def f(x):
    text = str([x.mean()])  # GB0059
    return x * 2
""",
    """\
def f(x):
    text = f"mean {x.mean()}"
    return x * len(text)  # GB0088
""",
    """\
def f(x):
    text = f"mean {x.mean()}"
    shout = text.upper()  # GB0156
    return x * 2
""",
    """\
def f(x):
    text = f"mean {x.mean()}"
    longer = text + "!"  # GB3934
    return x * 2
""",
    """\
def f(x):
    text = f"mean {x.mean()}"
    first = text[0]  # GB4880
    return x * 2
""",
    """\
# torch !=2.9,!=2.10,!=2.11
def f(x):
    text = "mean {}".format(x.mean())
    same = text == "mean"  # GB9648
    return x * 2
""",
    """\
# torch >=2.13
def f(x):
    number = hash(x)
    return x + number  # GB0055
""",
)

CLEAN = (
    """\
def f(x):
    text = f"{x}"
    return x * 2
""",
    """\
def f(x):
    text = f"{x.mean()=:.2f}"
    return x * 2
""",
    """\
def f(x):
    text = f"{x.shape=} {x.dtype!r}"
    return x * 2
""",
    """\
def f(x):
    text = "mean {}".format(x.mean())
    return x * 2
""",
    """\
def f(x):
    text = str(x.shape) + str(x.dtype) + repr(x.device)
    return x * 2
""",
    """\
def f(x):
    text = "shape %s, %d dimensions" % (tuple(x.shape), x.ndim)
    return x * 2
""",
    """\
def f(x):
    outputs = {f"layer_{i}": row for i, row in enumerate(x)}
    return outputs["layer_0"]
""",
    """\
def f(x):
    if x.ndim != 2:
        raise ValueError("got " + str(x))
    return x * 2
""",
    """\
def f(x):
    text = f"mean {x.mean()}"
    longer = f"{text}!"
    return x * 2
""",
    """\
# torch >=2.13
def f(x):
    text = f"mean {x.mean()}"
    notes = {text: 1}
    return x * 2
""",
    """\
def f(x):
    text = f"shape {x.shape}"
    return x * len(text)
""",
    """\
def f(x):
    text = "shape {}".format(tuple(x.shape)).upper()
    return x * 2
""",
    """\
def f(x):
    text = str(x.dtype).split(".")[-1]
    return x * 2
""",
    """\
# torch >=2.13
def f(x):
    number = hash(x)
    return x * 2
""",
    """\
def f(x):
    text = f"mean {x.mean()}"
    x = x * 3
    return x * 2
""",
)


def check_convert(event: Convert) -> Hit | None:
    if event.to == "format" and event.how != "%":
        return None
    if event.to == "use":
        return Hit(
            event,
            f"{code(event)} needs text or a hash of tensor data while tracing",
            "make it outside the compiled function",
            certainty(event),
            torch=">=2.13" if event.how == "==" else "",
            consequence=consequence(event),
        )
    if event.to not in ("str", "repr", "format") or not holds_tensor(event.value):
        return None
    return _hit(event)


def watches(name: str) -> bool:
    return name in ("builtins.ascii", "torch.Tensor.__repr__", "torch.Tensor.__str__")


def check_call(event: Call) -> Hit | None:
    shown = event.receiver if event.receiver is not None else event.args[0] if event.args else None
    return _hit(event) if shown is not None and may_be_tensor(shown) else None


def _hit(event: Convert | Call) -> Hit:
    return Hit(
        event,
        f"{code(event)} turns tensor data into text",
        "use an f-string, or make the text outside the compiled function",
        certainty(event, event.value if isinstance(event, Convert) else None),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, identity, guard_host)
