"""The sub-commands that talk to a lab. Their modules import little at the top: `perflab --help` loads them all."""
