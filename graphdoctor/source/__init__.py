"""Files: finding them, reading them safely, git, and the comments that suppress findings.

Imports nothing of graphdoctor but itself; the parser is in ``syntax``.
"""
