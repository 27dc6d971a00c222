"""Sub-commands of `perflab` that work on trace files: little at the top, since `perflab --help` imports them all."""
