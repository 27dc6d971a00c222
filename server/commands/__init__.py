"""The sub-commands of `perflab` that talk to a lab. Their modules import little at the top: `perflab --help` loads all."""
