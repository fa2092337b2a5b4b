"""``python -m graphdoctor``."""

from graphdoctor.cli import main

main()
