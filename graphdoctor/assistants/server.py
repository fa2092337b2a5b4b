"""The server: the tools over the Model Context Protocol, on stdin and stdout. Needs the package ``mcp``."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from graphdoctor import __version__
from graphdoctor.assistants.tools import Refused, Tools

_INSTRUCTIONS = (
    "graphdoctor finds what stands in the way of torch.compile (graph breaks, recompiles), offers fixes and proves "
    "changes. Begin with scan; ask finding for details by id; propose the diff of fixes, or your own change, and prove "
    "it with verify. No tool writes files, and code is run only where run=true is given."
)
#: The static pass nests deeply, and threads of some systems have a small stack.
_STACK = 64 * 1024 * 1024


def build() -> Any:
    """The server with its tools."""
    server = MCPServer("graphdoctor", instructions=_INSTRUCTIONS, version=__version__)
    tools = Tools()
    for tool in (tools.scan, tools.finding, tools.explain, tools.fixes, tools.verify):
        server.add_tool(_answering(tool))
    return server


def _answering(tool: Callable[..., str]) -> Callable[..., str]:
    """``tool``, whose refusals become errors that the assistant reads."""

    @functools.wraps(tool)
    def answer(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except Refused as error:
            raise ToolError(str(error)) from None

    return answer


def serve() -> None:
    """Answer until the input ends."""
    threading.stack_size(_STACK)
    build().run("stdio")
