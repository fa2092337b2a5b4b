"""How well the static pass foresees what Dynamo does: on files with a sample, and on models of installed libraries."""
