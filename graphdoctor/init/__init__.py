"""Setting up a project: settings, pre-commit hook and workflow, each as a text to write. Pure but for reading.

May import ``report``, ``fixes.core``, ``config`` and ``source``.
"""
