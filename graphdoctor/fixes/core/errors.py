"""Why an edit is not made."""

from __future__ import annotations


class Refuse(Exception):
    """No fix is offered; the text is the reason, a sentence for the user without its full stop."""
