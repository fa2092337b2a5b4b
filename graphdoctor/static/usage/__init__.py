"""What a program does with its models outside compiled code, as the usage rules (GD6xx) see it.

May import ``model``, ``source``, ``syntax``, ``static.domain`` and ``static.interp``.
"""
