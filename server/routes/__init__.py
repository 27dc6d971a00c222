"""The routes, one file a word: each parses, calls the lab, returns."""
