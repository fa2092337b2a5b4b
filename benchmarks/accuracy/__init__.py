"""How well the static pass predicts what Dynamo does: on files with a sample, and on models of installed libraries."""
