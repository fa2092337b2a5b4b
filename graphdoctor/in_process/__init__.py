"""Checks in the user's own process: ``graphdoctor.check``, ``graphdoctor.record``, notebooks and callbacks.

May import ``api``, ``scan``, ``report``, ``diagnosis``, ``lint``, ``dynamic``, ``breaks``, ``model`` and ``source``;
torch when it is called.
"""
