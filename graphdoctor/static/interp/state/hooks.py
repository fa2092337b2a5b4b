"""The forward hooks that a file registers outside compiled code."""

from __future__ import annotations

from graphdoctor.static.domain.values import Hook, Instance


class Hooks:
    """Which hooks were removed again, and which are registered on an unknown part of a module."""

    def __init__(self) -> None:
        #: The calls that registered a hook which was removed, by id.
        self._removed: set[int] = set()
        #: Hooks on unknown parts, each with the module that has the part, or of which one of several objects has it.
        self.on_parts: list[tuple[Instance, Hook]] = []

    def add(self, hook: Hook) -> None:
        """Note that a hook is registered."""
        self._removed.discard(hook.site)

    def add_on_part(self, module: Instance, hook: Hook) -> None:
        """Note that a hook is registered on one of the modules in ``module``."""
        self.add(hook)
        self.on_parts.append((module, hook))

    def remove(self, hook: Hook) -> None:
        """Note that a hook is removed."""
        self._removed.add(hook.site)

    def is_registered(self, hook: Hook) -> bool:
        """Whether a hook was not removed."""
        return hook.site not in self._removed
