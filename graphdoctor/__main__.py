"""``python -m graphdoctor``."""

import sys

# The working folder comes first then, and a file there that is called like a module would be run in its place.
if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]

from graphdoctor.entry import main

main()
