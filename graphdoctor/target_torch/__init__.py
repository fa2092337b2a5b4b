"""What the supported and the installed versions of torch accept, read from files: torch is never imported.

Imports nothing of graphdoctor but itself.
"""
