"""Many targets, each scanned in a process of its own, with the results in one file that a later run goes on with.

May import ``report``, ``diagnosis``, ``dynamic.named``, ``dynamic.parent``, ``config``, ``model``, ``source`` and
``target_torch``.
"""
