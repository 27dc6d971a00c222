"""What the profiler raises.

Exception
└── ProfilerError              anything below
    ├── TraceFormatError       a file is no trace, or is cut short, or names a version we do not know
    ├── TraceInvariantError    a Trace breaks its own rules (see Trace.check)
    ├── ProfileStateError      profile() or a TraceBuilder was used out of order, or the runtime is not built
    ├── CeilingsError          a file is not one that `perflab machine` wrote
    ├── QueryError             a question in SQL cannot be asked, or takes too much
    ├── QuestionStopped        who asked a question in SQL no longer waits for the answer
    ├── ProgramError           a program cannot be run under the profiler
    └── ReplayError            the allocator has no such configuration
"""


class ProfilerError(Exception):
    """Base of every error that perflab.profiler raises on purpose."""


class TraceFormatError(ProfilerError):
    """The file cannot be read as a trace; the message says what came and what to do."""


class TraceInvariantError(ProfilerError):
    """A Trace is not sorted, not nested or refers to rows it does not have."""


class ProfileStateError(ProfilerError):
    """profile() was stepped, read or exported, or a TraceBuilder built, at a moment when it cannot be."""


class CeilingsError(ProfilerError):
    """A file of what a machine can do at most does not hold that."""


class QueryError(ProfilerError):
    """A question in SQL is no single SELECT, is wrong, or takes more than its limits."""


class QuestionStopped(ProfilerError):
    """Who asked a question in SQL no longer waits for the answer."""


class ProgramError(ProfilerError):
    """A program that cannot be run under the profiler: says which, and what to name instead."""


class ReplayError(ProfilerError):
    """A configuration that the allocator does not know; the message says which there are."""
