"""Calls of a script: followed into scanned code, else recorded as a step on the objects that they work on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import libcst as cst

from graphdoctor.static.usage.arguments import bound, callback_arguments, is_unused, parameters
from graphdoctor.static.usage.builtin_calls import BuiltinCalls
from graphdoctor.static.usage.events import (
    NO_ARGUMENTS,
    Arguments,
    Class,
    Function,
    Operation,
    Partial,
    TrackedObject,
    Use,
    compiling_setup,
    dotted,
    unwrapped,
)
from graphdoctor.static.usage.frame import Frame
from graphdoctor.static.usage.known_calls import (
    IN_PLACE,
    LAUNCHERS,
    MAKERS,
    MEASURES,
    OWN_COMPILE,
    SELF_METHODS,
    SETUPS,
    UNWRAPS,
    WATCHED,
    WRAPPERS,
)
from graphdoctor.static.usage.outline import is_foreign
from graphdoctor.static.usage.outputs import GRADLESS
from graphdoctor.static.usage.state import State, merge


class Calls(BuiltinCalls):
    """The part of the script walker that knows calls."""

    #: Deeper calls than this are not followed.
    MAX_DEPTH = 12
    #: Evaluated calls per file before no more are followed.
    MAX_CALLS = 20_000
    #: How often one function is followed.
    MAX_TIMES = 8

    def __init__(self) -> None:
        super().__init__()
        self._active: list[cst.CSTNode] = []
        self._times: dict[cst.CSTNode, int] = {}
        #: Functions that were passed to a function that measures them.
        self._handed: set[cst.CSTNode] = set()

    def run_body(self, code: Function) -> bool:
        """Walk the body of a function in the present frame; False when its end is not reached."""
        raise NotImplementedError

    def is_relevant(self, code: Function) -> bool:
        """Whether the body of the function concerns the compiler."""
        raise NotImplementedError

    def was_followed(self, code: Function) -> bool:
        """Whether a call led into the function."""
        return code.node in self._times

    def call(self, node: cst.Call) -> TrackedObject:
        """A call: an event, a step on its objects, and its result."""
        name, receiver, callee = self._callee(node.func)
        passed = self._passed(node)
        if isinstance(callee.code, Partial):
            passed, callee = callee.code.arguments(passed), callee.code.target
            if callee.name or isinstance(callee.code, (Function, Class)):
                name, receiver = callee.name or name, None
            else:
                receiver = callee
        waiting = receiver.find("torch.compile") if receiver is not None and name == ".__call__" else None
        if waiting is not None and waiting.argument(0, "model") is None and passed.args:
            # torch.compile(mode=...)(model)
            given = Arguments(passed.args, waiting.kwargs)
            return self.wrapped(node, self._use(waiting.node, "torch.compile", None, given))
        if name == ".compile" and (passed.args or is_foreign(receiver, self.frame.module.text)):
            # Module.compile() hands its arguments on to torch.compile(), which takes keywords only.
            name = OWN_COMPILE
        target = self._target(callee, name, receiver, passed.values)
        if target is not None and MEASURES.search(target.qualname.lower()):
            self._handed |= {arg.code.node for arg in passed.values if isinstance(arg.code, Function)}
        step = self._use(node, name, receiver, passed, followed=target is not None)
        if name == ".elapsed_time":
            self.emit_gpu_timing(node, step)
        result = self.follow(node, target, step) if target is not None else self._result(node, step)
        self.emit_output(node, step, result)
        return result

    def taken_apart(self, node: cst.CSTNode, name: str, container: TrackedObject) -> None:
        if container.inner is not None:
            self._use(node, name, None, Arguments((container,)))

    def _use(
        self,
        node: cst.CSTNode,
        name: str,
        receiver: TrackedObject | None,
        passed: Arguments,
        *,
        followed: bool = False,
    ) -> Operation:
        """A step that rules see."""
        step = self.new_step(name, node, receiver, passed, followed)
        related, objects = partial(self.related, self.frame.module), self.state.objects
        where = {"log": self.log, "position": len(self.log), "since": self._since}
        self.emit(Use, node, step=step, objects=objects, related=related, **where)
        self.log.append(step)
        return step

    def _callee(self, func: cst.BaseExpression) -> tuple[str, TrackedObject | None, TrackedObject]:
        """The name of what is called, the object that it works on, and what is called."""
        if isinstance(func, cst.Attribute):
            owner = self.evaluate(func.value)
            known = self.found(func, owner, func.attr.value)
            if known is not None and (known.steps or known.code or known.made_of):
                method = isinstance(known.code, Function) and known.code.bound is not None and not known.steps
                return (f".{func.attr.value}", owner, known) if method else (".__call__", known, known)
            if owner.name and not owner.name.startswith(".") and not owner.steps:
                full = self.attribute(func, owner, func.attr.value)
                return full.name or dotted(func), None, full
            return f".{func.attr.value}", owner, TrackedObject(func)
        callee = self.evaluate(func)
        if isinstance(func, cst.Name) and not callee.steps and not callee.number:
            return callee.name or func.value, None, callee
        if callee.name and not callee.steps and not callee.name.startswith("."):
            return callee.name, None, callee
        return ".__call__", callee, callee

    def _passed(self, node: cst.Call) -> Arguments:
        args: list[TrackedObject] = []
        kwargs: dict[str, TrackedObject] = {}
        for arg in node.args:
            value = self.evaluate(arg.value)
            if arg.star == "*":
                args += value.items
                if not value.items or isinstance(value.node, (cst.ListComp, cst.GeneratorExp)):
                    kwargs["*"] = value
            elif arg.star == "**":
                names = {key.value: each for key, each in value.entries}
                stored = self.state.objects.get(value.number, {})
                names.update({key[2:-2]: each for key, each in stored.items() if key.startswith("['")})
                known = {key: each for key, each in names.items() if isinstance(key, str) and not each.is_unknown_part}
                kwargs.update(known)
                if len(known) < len(names) or not known:
                    kwargs["**"] = value
            elif arg.keyword is not None:
                kwargs[arg.keyword.value] = value
            else:
                args.append(value)
        return Arguments(tuple(args), kwargs)

    def _target(
        self, callee: TrackedObject, name: str, receiver: TrackedObject | None, passed: Iterable[TrackedObject]
    ) -> Function | Class | None:
        """The function that a call is followed into, if it is followed."""
        code = callee.code
        if isinstance(code, Class):
            return code
        if name == ".__call__" and receiver is not None and receiver.made_of is not None:
            code = receiver.made_of.method("__call__")
            code = replace(code, bound=receiver) if code is not None else None
        if (
            not isinstance(code, Function)
            or callee.find("torch.compile", ".compile")
            or not self._may_follow(code, passed)
        ):
            return None
        return code

    def _may_follow(self, code: Function, passed: Iterable[TrackedObject]) -> bool:
        """Whether a call is followed that passes these objects, those of keywords too."""
        named = isinstance(code.node, cst.FunctionDef) and code.node.name.value == "forward"
        return (
            not named
            and self._has_room(code)
            and (self.is_relevant(code) or any(self._is_watched(each) for each in (code.bound, *passed)))
        )

    def _has_room(self, code: Function) -> bool:
        """Whether one more call of a function is within the limits of a file."""
        return (
            code.node not in self._active
            and len(self._active) < self.MAX_DEPTH
            and len(self.log) < self.MAX_CALLS
            and self._times.get(code.node, 0) < self.MAX_TIMES
        )

    def _is_watched(self, tracked: TrackedObject | None, depth: int = 2) -> bool:
        """Whether something that the rules ask about was done to an object, or to a part of it."""
        if tracked is None:
            return False
        if isinstance(tracked.code, (Function, Partial)) or any(_is_watched_step(step) for step in tracked.steps):
            return True
        held = (
            *tracked.items,
            *(value for _, value in tracked.entries),
            *self.state.objects.get(tracked.number, {}).values(),
        )
        return depth > 0 and any(self._is_watched(each, depth - 1) for each in held)

    def follow(self, node: cst.CSTNode, target: Function | Class, step: Operation) -> TrackedObject:
        """The result of a call into scanned code."""
        if isinstance(target, Function):
            unused = is_unused(node, self.frame.statement)
            return self.enter(target, step.passed, unused=unused)
        made = self.made(node, step, made_of=target)
        constructor = target.method("__init__")
        if constructor is not None and self._may_follow(constructor, step.passed.values):
            self.enter(replace(constructor, bound=made), step.passed)
        elif constructor is None:
            for name, value in step.kwargs.items():
                # A dataclass stores its arguments.
                self.state.put(made.number, name, value)
        return self.state.now(made)

    def enter(
        self,
        code: Function,
        passed: Arguments = NO_ARGUMENTS,
        *,
        alone: bool = False,
        unused: bool = False,
    ) -> TrackedObject:
        """Walk a function with these arguments; ``alone`` when no call of it was seen. ``unused``: the caller
        discards the result."""
        caller, scope = self.frame, self.new_number()
        self._times[code.node] = self._times.get(code.node, 0) + 1
        self._active.append(code.node)
        inside = not alone
        self.frame = Frame(
            module=code.module,
            scopes=(*code.scopes, scope),
            name=code.qualname,
            statement=code.node,
            code=code,
            loops=caller.loops if inside else (),
            path=caller.path if inside else (),
            outside=caller.outside if inside else 0,
            guards=caller.guards if inside else (),
            unused=unused,
            without_grad=bool(GRADLESS & code.markers) or (caller.without_grad if inside else self.gradless),
        )
        if code.bound is not None and "staticmethod" not in code.markers:
            passed = Arguments((code.bound, *passed.args), passed.kwargs)
        for name, value in bound(code, passed, alone=alone, fresh=self._fresh).items():
            self.state.bind(scope, name, value)
        handed = code.node in self._handed
        self.measured += handed
        try:
            return self._run(code)
        finally:
            self.measured -= handed
            self._active.pop()
            self.frame = caller

    def _fresh(self, node: cst.CSTNode) -> TrackedObject:
        return TrackedObject(node, number=self.new_number())

    def _run(self, code: Function) -> TrackedObject:
        """Walk the body in the present frame, and join the paths that reach its end."""
        if isinstance(code.node, cst.Lambda):
            return self.evaluate(code.node.body)
        falls = self.run_body(code)
        ends: list[tuple[TrackedObject, State]] = [*self.frame.returns]
        if falls or not ends:
            ends.append((TrackedObject(code.node, value=None), self.state))
        self.state = merge([state for _, state in ends])
        values = [value for value, _ in ends if value.value is not None] or [ends[0][0]]
        result = values[0]
        for value in values[1:]:
            result = self.state.join(result, value)
        return self.state.now(result)

    def read_property(self, node: cst.BaseExpression, code: Function) -> TrackedObject:
        """What a property gives."""
        return self.enter(code) if self._may_follow(code, ()) else TrackedObject(node)

    def made(
        self, node: cst.CSTNode, step: Operation, inner: TrackedObject | None = None, made_of: Class | None = None
    ) -> TrackedObject:
        """A new object, made by ``step``, out of ``inner`` where it wraps that."""
        number = self.new_number()
        self.state.steps[number] = (step,)
        maker = inner.maker if inner is not None and inner.maker is not None else step
        tracked = TrackedObject(node, (step,), number=number, maker=maker, inner=inner, made_of=made_of)
        return self.state.now(tracked)

    def wrapped(self, node: cst.CSTNode, step: Operation) -> TrackedObject:
        """What a step makes of its first argument."""
        first = step.argument(0, "model", "module")
        if first is not None and first.made_of is not None:
            self._build(unwrapped(first))
        return self.made(node, step, first)

    def _build(self, tracked: TrackedObject) -> None:
        """Walk the constructor of what is compiled where that was not done, so that its parts are known."""
        constructor = tracked.made_of.method("__init__") if tracked.made_of is not None else None
        if constructor is not None and not self.state.objects.get(tracked.number) and self._has_room(constructor):
            maker = tracked.maker
            # The arguments of a method that makes one, such as ``from_pretrained``, are not those of the constructor.
            called = maker is not None and not maker.name.startswith(".")
            passed = maker.passed if maker is not None and called else NO_ARGUMENTS
            # It ran where the object was made, so its steps do not belong to this place.
            log, self.log = self.log, [*self.log]
            self.enter(replace(constructor, bound=tracked), passed, alone=True)
            self.log = log

    def _result(self, node: cst.Call, step: Operation) -> TrackedObject:
        first = step.argument(0, "model", "module")
        if step.name in WRAPPERS and first is not None:
            return self.wrapped(node, step)
        by = step.receiver.code if step.receiver is not None else None
        if isinstance(by, Class) and step.name.startswith(MAKERS):
            return self.made(node, step, made_of=by)
        if step.name == "copy.deepcopy" and first is not None:
            return self._copied(node, step, step.args[0] if step.args else first)
        if step.name == "functools.partial" and step.args:
            tracked = self.made(node, step)
            return replace(tracked, code=Partial(step.args[0], step.args[1:], step.kwargs))
        if step.name in SETUPS and step.receiver is not None and step.receiver.made_by.endswith(LAUNCHERS):
            wrapped = tuple(self.made(node, step, arg) for arg in step.args)
            return wrapped[0] if len(wrapped) == 1 else TrackedObject(node, items=wrapped, number=self.new_number())
        if step.name in UNWRAPS and first is not None:
            # It removes the wrappers of distributed training, and puts the compiled one back.
            kept = first.find("torch.compile") is not None or any(map(compiling_setup, first.steps))
            if kept and step.option("keep_torch_compile") is not False:
                return self.made(node, step, first)
            return replace(unwrapped(first), node=node)
        if step.name in IN_PLACE and first is not None:
            self.state.record(first, step)
            return self.state.now(replace(first, node=node))
        special = self._super(node) if step.name == "super" and not step.args else self.builtin(node, step)
        if special is not None:
            return special
        for argument in (step.receiver, *step.args, *step.kwargs.values()):
            for each in argument.parts() if argument is not None else ():
                self.state.record(each, step)
        self._call_back(step)
        if step.name in SELF_METHODS and step.receiver is not None:
            return self.state.now(replace(step.receiver, node=node))
        return self.made(node, step)

    def _copied(self, node: cst.CSTNode, step: Operation, first: TrackedObject) -> TrackedObject:
        """A copy has the history of the original; later steps belong to one of the two alone."""
        number = self.new_number()
        self.state.steps[number] = (*first.steps, step)
        self.state.objects[number] = self.state.objects.get(unwrapped(first).number, {})
        inner = unwrapped(first)
        made_of = first.made_of or inner.made_of
        return self.state.now(replace(first, node=node, number=number, inner=None, made_of=made_of, others=()))

    def _super(self, node: cst.Call) -> TrackedObject | None:
        code = self.frame.code
        if code is None or code.owner is None or code.bound is None:
            return None
        above = replace(code.owner, names={})
        return replace(code.bound, node=node, made_of=above)

    def _call_back(self, step: Operation) -> None:
        """A function that is passed to a library is called by it, at once or later."""
        measures = MEASURES.search(step.name.lower()) is not None
        for tracked in (*step.args, *step.kwargs.values()):
            partly = tracked.code if isinstance(tracked.code, Partial) else Partial(tracked)
            code = partly.target.code
            if isinstance(code, Function) and not tracked.steps and self._may_follow(code, step.args):
                given = callback_arguments(step, tracked, len(parameters(code)) - len(partly.args))
                open_end = {} if given else {"*": tracked}
                self.measured += measures
                self.enter(code, partly.arguments(Arguments(given, open_end)))
                self.measured -= measures


def _is_watched_step(step: Operation) -> bool:
    return step.name in WATCHED or step.name.startswith("torch.optim.")
