"""The steps of a scan: what is read, which rules are asked, the static pass, the run, and what is shown.

May import every package below it.
"""
