"""``graphdoctor run``: the user's program under the recorder, and the report on what it compiled.

May import ``scan``, ``trace``, ``report``, ``diagnosis``, ``fixes.verification``, ``dynamic.parent``, ``breaks``,
``model``, ``source`` and ``recorder``.
"""
