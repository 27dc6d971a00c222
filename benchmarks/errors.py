"""What can go wrong with benchmark results.

BenchmarkError
├── BenchmarkFormatError    a file or text that is no benchmark result, or not one we can read
├── GateOptionError         an option of the gate outside its range (also a ValueError)
├── GitError                what git refuses, or a folder without a repository
└── MeasuringFailed         a build or a benchmark process that ended badly and left no results
"""


class BenchmarkError(Exception):
    """Base of every error of this package; the message is one sentence that says what came and what to do."""


class BenchmarkFormatError(BenchmarkError):
    """A benchmark file that cannot be read, from another tool, or of another version."""


class GateOptionError(BenchmarkError, ValueError):
    """A gate option outside its range."""


class GitError(BenchmarkError):
    """What git refuses, or a folder without a repository."""


class MeasuringFailed(BenchmarkError):
    """A build or a benchmark process that ended badly and left no results."""
