"""Changes that somebody else wrote, proved as graphdoctor proves its own fixes.

May import ``scan``, ``diagnosis``, ``fixes.core``, ``fixes.verification``, ``dynamic.parent``, ``model`` and
``source``.
"""
