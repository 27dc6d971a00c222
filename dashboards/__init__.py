"""Figures and pages: analysed traces in, plotly figures and HTML out. Nothing here reads files or speaks HTTP."""
