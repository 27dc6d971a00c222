"""What can go wrong with benchmark results.

BenchmarkError
├── BenchmarkFormatError    a file or text that is no benchmark result, or not one we can read
└── GateOptionError         an option of the gate outside its range (also a ValueError)
"""


class BenchmarkError(Exception):
    """Base of every error of this package; the message is one sentence that says what came and what to do."""


class BenchmarkFormatError(BenchmarkError):
    """A benchmark file that cannot be read, from another tool, or of another version."""


class GateOptionError(BenchmarkError, ValueError):
    """A gate option outside its range."""
