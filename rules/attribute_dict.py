"""Attributes that are entries of a dict by a method of `dict`.

What: An attribute is read, asked for or set of an object whose class says `__getattr__ = dict.get`,
`__getattr__ = dict.__getitem__` or `__setattr__ = dict.__setitem__`, in compiled code. Such classes often hold settings
(`AttrDict`, `dotdict`).

Why: Dynamo calls a `__getattr__` that is written in Python, and none that is written in C. What reads an attribute is
given up as a whole, because Dynamo cannot go on in the middle of a read.

Fix: Write `def __getattr__(self, name): return dict.get(self, name)`, which is traced, or read the settings in
`__init__`. Entries (`settings["scale"]`) are traced, too.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.attribute_methods import written_in_python
from graphdoctor.static.domain.events import GetAttr, SetAttr
from graphdoctor.static.domain.named_attributes import reads_entry, stores_entry
from graphdoctor.static.domain.values import Instance
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence, leaves_function

CODE = "GD408"
NAME = "attribute-dict"
SEVERITY = "error"
GB_IDS = ("GB0256", "GB0156")
TORCH = ">=2.6"

BREAKS = (
    """\
import torch.nn as nn


class Settings(dict):
    __getattr__ = dict.__getitem__


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = Settings(scale=2.0)

    def forward(self, x):
        return x * self.settings.scale  # GB0256
""",
    """\
class Settings(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


settings = Settings()
settings.scale = 2.0


def scaled(x):
    return x * settings.scale  # GB0256


def f(x):
    y = scaled(x + 1)
    return y * 2
""",
    """\
class Settings(dict):
    __getattr__ = dict.get


settings = Settings(scale=2.0)


def f(x):
    return x * getattr(settings, "scale", 1.0)  # GB0256
""",
    """\
class Settings(dict):
    __getattr__ = dict.__getitem__


settings = Settings(scale=2.0)


def f(x):
    if hasattr(settings, "scale"):  # GB0256
        x = x * 2
    return x + 1
""",
    """\
# torch >=2.9
class Outputs(dict):
    __setattr__ = dict.__setitem__


def f(x):
    outputs = Outputs()
    outputs.hidden = x + 1  # GB0156
    return outputs["hidden"] * 2
""",
)

CLEAN = (
    """\
# torch >=2.9
import torch.nn as nn


class Settings(dict):
    def __getattr__(self, name):
        return dict.get(self, name)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = Settings(scale=2.0)

    def forward(self, x):
        return x * self.settings.scale
""",
    """\
# torch >=2.9
class Settings(dict):
    __getattr__ = dict.get


settings = Settings(scale=2.0)


def f(x):
    return x * settings["scale"] * settings.get("scale") * len(settings.keys())
""",
    """\
import torch.nn as nn


class Settings(dict):
    __getattr__ = dict.get


class Net(nn.Module):
    def __init__(self, settings=Settings(scale=2.0)):
        super().__init__()
        self.scale = settings.scale

    def forward(self, x):
        return x * self.scale
""",
    """\
class Settings(dict):
    def __init__(self, **values):
        super().__init__(**values)
        self.__dict__ = self


settings = Settings(scale=2.0)


def f(x):
    return x * settings.scale
""",
    """\
class Settings(dict):
    __getattr__ = dict.get
    scale = 2.0


settings = Settings()


def f(x):
    return x * settings.scale
""",
    """\
# torch >=2.9
class Outputs(dict):
    __setattr__ = dict.__setitem__


def f(x):
    outputs = Outputs()
    outputs["hidden"] = x + 1
    return outputs["hidden"] * 2
""",
)


def check_getattr(event: GetAttr) -> Hit | None:
    if not isinstance(event.receiver, Instance) or not reads_entry(event.receiver.info, event.name):
        return None
    # What a call asks for, the graph ends at; in the middle of a read Dynamo cannot go on.
    reads = isinstance(event.node, cst.Attribute) and event.site.whole_frame is None
    cost = leaves_function(event) if reads else consequence(event)
    return Hit(
        event,
        f"{code(event)} is looked up by a method of `dict` used as `__getattr__`, and Dynamo traces no method that "
        "is written in C",
        "write `__getattr__` in Python, or read the entry: `settings['name']`",
        certainty(event),
        consequence=cost,
    )


def check_setattr(event: SetAttr) -> Hit | None:
    if not isinstance(event.receiver, Instance) or not stores_entry(event.receiver.info):
        return None
    return Hit(
        event,
        f"{code(event)} is stored by a method of `dict` used as `__setattr__`, and Dynamo traces no method that is "
        "written in C",
        "write `__setattr__` in Python, or store the entry: `outputs['name'] = value`",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return written_in_python(hit, editor)
