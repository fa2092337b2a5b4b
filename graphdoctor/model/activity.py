"""The current activity, for the line of progress."""

from __future__ import annotations


class Activity(str):
    """A few words, and of a run since when (``time.monotonic``) and how many seconds it may take."""

    began: float | None = None
    limit: float | None = None
