"""Formats for services: SARIF, GitHub, GitLab, JUnit, badges.

May import ``report``, ``diagnosis``, ``lint``, ``source``, ``static`` and ``model``.
"""
