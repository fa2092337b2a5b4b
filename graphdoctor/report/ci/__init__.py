"""Formats for services: SARIF, GitHub, GitLab, JUnit, badges.

May import ``report``, ``diagnosis``, ``lint``, ``static`` and ``model``.
"""
