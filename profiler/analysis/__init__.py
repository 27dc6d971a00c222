"""Questions asked of a Trace: pure functions that return dataclasses, whatever tool recorded it."""
