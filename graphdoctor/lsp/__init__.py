"""The language server: findings of the static pass while a file is edited. Never runs code.

May import ``scan``, ``report``, ``lint``, ``fixes.core``, ``static``, ``config``, ``model`` and ``source``.
"""
