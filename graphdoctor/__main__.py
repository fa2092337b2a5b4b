"""``python -m graphdoctor``."""

from graphdoctor.entry import main

main()
