"""The report as GitHub Markdown: comments on pull requests, job summaries, reviews.

May import ``report``, ``diagnosis`` and ``model``.
"""
