"""The command line: which commands there are, and how they end.

Only click and the standard library are imported here, so that ``--help`` and ``--version`` are fast; a command's module
is imported when the command is called, and the engine inside the command.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import NoReturn

import click

from graphdoctor import __version__
from graphdoctor.commands.problems import INTERRUPTED, complain
from graphdoctor.interrupt import ending_cleanly

#: The commands in the order of the help. Each is a function in the module of its name in ``graphdoctor/commands/``.
COMMANDS = (
    "scan", "run", "fix", "verify", "compare", "trace", "advise", "bench", "fleet", "explain", "rules", "init", "lsp",
    "mcp",
)  # fmt: skip

#: The errors of a device that is full or gone.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Commands(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"graphdoctor.commands.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        wanted = args[0]
        if wanted in COMMANDS or wanted.startswith("-"):
            return super().resolve_command(ctx, args)
        # Only a message about a mistake needs it.
        from graphdoctor.config.suggestions import hint

        if os.path.exists(wanted):
            raise click.UsageError(f"{wanted!r} is no command; to scan it: graphdoctor scan {wanted}", ctx)
        raise click.UsageError(
            f"no command is called {wanted!r}; {hint(wanted, COMMANDS, 'graphdoctor --help lists them')}", ctx
        )


def _in_one_line(error: click.UsageError, arguments: list[str]) -> str:
    """What click says is wrong, without the usage that it would print above, and where the options are described."""
    message = error.format_message()
    message = f"{message[:1].lower()}{message[1:].rstrip('.')}"
    command = " ".join(["graphdoctor", *(word for word in arguments[:1] if word in COMMANDS)])
    # What has a hint of its own needs no other.
    return message if ";" in message else f"{message}; `{command} --help` has all options"


def main(arguments: list[str] | None = None) -> NoReturn:
    """The entry point. Ends the process with 0 (clean), 1 (findings), 2 (usage or internal error) or 130 (Ctrl-C)."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape, not a UnicodeEncodeError.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        os.getcwd()
    except OSError as error:
        sys.exit(complain(f"the working folder cannot be used: {error.strerror}; change to one that exists"))
    try:
        with ending_cleanly():
            code = cli.main(args=arguments, prog_name="graphdoctor", standalone_mode=False)
    except click.Abort:
        code = INTERRUPTED
    except click.UsageError as error:
        code = complain(_in_one_line(error, sys.argv[1:] if arguments is None else arguments))
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except Exception as error:
        if os.environ.get("GRAPHDOCTOR_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        code = complain(_sentence(error))
    sys.exit(code)


def _sentence(error: Exception) -> str:
    # Of the standard output there is no file name.
    if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
        return f"the output cannot be written: {error.strerror}"
    return (
        f"internal error: {type(error).__name__}: {error}. Please report it with the traceback that "
        "GRAPHDOCTOR_DEBUG=1 shows"
    )


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="graphdoctor", message="%(prog)s %(version)s")
def cli() -> None:
    """Find, run, fix and verify the graph breaks of PyTorch code.

    \b
    graphdoctor scan model.py           read the code and, if it has a sample input, run it
    graphdoctor run train.py            run a program, unchanged, and report what was compiled
    graphdoctor fix model.py            write the fixes that were proved
    graphdoctor trace DIR               report on a job that ran elsewhere, from its TORCH_TRACE files
    graphdoctor compare old.json new.json  what is new and what is fixed
    graphdoctor advise model.py         where to put torch.compile, with the compilations it takes
    graphdoctor bench model.py          what each way of compiling costs and gains
    graphdoctor fleet models/           scan many targets, and compare with an earlier time
    graphdoctor explain GD101           what a finding means and how to fix it
    graphdoctor rules                   all rules
    graphdoctor init                    set up configuration, pre-commit hook and workflow
    """
