"""``python -m benchmarks.accuracy``, from the repository's root."""

from __future__ import annotations

import click

from benchmarks.accuracy.folder import folder
from benchmarks.accuracy.models import models


@click.group()
def main() -> None:
    """How well the static pass predicts what Dynamo does."""


main.add_command(folder)
main.add_command(models)

if __name__ == "__main__":
    main()
