"""Sub-commands of `perflab` that measure: little at the top, since `perflab --help` imports them all."""
