"""``graphdoctor run``: the user's program under the recorder, and the report on what it compiled.

May import ``scan``, ``trace``, ``lint``, ``report``, ``diagnosis``, ``fixes.core``, ``fixes.verification``,
``dynamic.parent``, ``dynamic.user_code``, ``breaks``, ``model``, ``source`` and ``recorder``.
"""
