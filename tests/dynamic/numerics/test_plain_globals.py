"""What calls change at module level is undone."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from types import ModuleType

from graphdoctor.dynamic.numerics.plain_globals import PlainGlobals


def test_counters_and_containers_are_what_they_were() -> None:
    module = ModuleType("model")
    held = {"counts": Counter(a=1), "log": [1, [2]], "last": deque([1]), "table": defaultdict(list)}
    vars(module).update(held, step=0, other=object(), told=False, name=None, seen={"a"})
    kept = PlainGlobals([module])
    module.step, module.other = 5, 3
    module.counts.update("aab")
    module.log[1].append(3)
    module.last.append(2)
    module.table["a"].append(1)
    module.told, module.name = True, "set up"
    module.seen.add("b")
    kept.restore()
    assert (module.step, module.counts, module.log) == (0, Counter(a=1), [1, [2]])
    assert (module.last, module.table) == (deque([1]), {})
    assert all(getattr(module, name) is value for name, value in held.items())
    # What may say that something was set up stays, and so does what is not plain.
    assert (module.told, module.name, module.seen, module.other) == (True, "set up", {"a", "b"}, 3)


def test_a_container_that_was_replaced_is_put_back() -> None:
    module = ModuleType("model")
    module.log = log = [1]  # type: ignore[attr-defined]
    kept = PlainGlobals([module])
    module.log = []  # type: ignore[attr-defined]
    log.append(2)
    kept.restore()
    assert module.log is log and log == [1]
