"""Benchmark results, their statistics, and the gate.

from perflab.benchmarks import formats, gate, report

verdicts = gate.judge([formats.read(path) for path in base], [formats.read(path) for path in head])
print(report.text(verdicts))
"""
