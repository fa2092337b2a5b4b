"""What belongs together in a diff."""

from __future__ import annotations

from graphdoctor.report.html.diff import pieces


def test_changes_are_pieces_and_names_of_files_are_no_changes() -> None:
    diff = "--- a/m.py\n+++ b/m.py\n@@ -1,3 +1,3 @@\n x\n--- y\n-y\n+z\n \n--- a/n.py\n+++ b/n.py\n@@ -1 +1 @@\n-a\n+b"
    assert [(piece.changed, [(row.kind, row.text) for row in piece.rows]) for piece in pieces(diff)] == [
        (False, [("hunk", "--- a/m.py"), ("hunk", "+++ b/m.py"), ("hunk", "@@ -1,3 +1,3 @@"), ("same", " x")]),
        (True, [("remove", "--- y"), ("remove", "-y"), ("add", "+z")]),
        (
            False,
            [("same", " "), ("hunk", "--- a/n.py"), ("hunk", "+++ b/n.py"), ("hunk", "@@ -1 +1 @@")],
        ),
        (True, [("remove", "-a"), ("add", "+b")]),
    ]
