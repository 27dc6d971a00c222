"""The report of a trace: all answers as data, in sections of words, as text for a terminal or as Markdown."""
