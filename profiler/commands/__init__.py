"""Sub-commands of `perflab` that work on trace files."""
