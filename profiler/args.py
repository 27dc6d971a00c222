"""Columns of arguments: made of any JSON values, and joined."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import ArrayLike, NDArray

from .trace import ArgColumn, Int32s, Int64s, Json


def arg_column(rows: ArrayLike, values: NDArray[Any] | Sequence[Json]) -> ArgColumn:
    """The values of rows in any order: numbers or truths of one type become an array, others ids into a table."""
    places = np.atleast_1d(np.asarray(rows, dtype=np.int64))
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        wide = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}[values.dtype.kind]
        return ArgColumn(places, values.astype(wide, copy=False))
    kinds = {type(value) for value in values}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return ArgColumn(places, np.array(values, dtype=np.int64))
    if kinds in ({float}, {bool}):
        return ArgColumn(places, np.array(values))
    codes, table = unique(values)
    return ArgColumn(places, codes, table)


def coded(rows: Int64s, values: NDArray[Any] | Sequence[Json], table: list[Json] | None) -> ArgColumn:
    """As `arg_column`, or, with a `table`, of ids into it; values that it has twice share one id."""
    if table is None:
        return arg_column(rows, values)
    codes, without_twins = unique(table)
    return ArgColumn(rows, codes[np.asarray(values, dtype=np.int64)], without_twins)


def unique(values: NDArray[Any] | Sequence[Json]) -> tuple[Int32s, list[Json]]:
    """Ids of values in the list of those that differ."""
    seen: dict[tuple[type, Json], int] = {}
    known: dict[int, int] = {}  # ids of lists and dicts by identity: equal ones are often the same
    table: list[Json] = []
    codes = np.empty(len(values), dtype=np.int32)
    for place, value in enumerate(values):
        code = known.get(id(value), -1)
        if code < 0:
            nested = isinstance(value, list | dict)
            text = spelling(value) if nested else repr(value) if isinstance(value, float) else value
            code = seen.setdefault((type(value), text), len(table))
            if code == len(table):
                table.append(value)
            if nested:
                known[id(value)] = code
        codes[place] = code
    return codes, table


def spelling(value: Json) -> bytes | str:
    """Text by which equal lists and dicts are known."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits or a lone surrogate
        return json.dumps(value)


def joined_values(columns: Sequence[ArgColumn]) -> tuple[NDArray[Any], list[Json] | None]:
    """The values of columns one after the other, and their table."""
    if len(columns) == 1:
        return columns[0].values, columns[0].table
    same_table = all(column.table is columns[0].table for column in columns)
    if same_table and len({column.values.dtype for column in columns}) == 1:
        return np.concatenate([column.values for column in columns]), columns[0].table
    listed: list[Json] = []
    places = []
    for column in columns:
        places.append(len(listed) + (np.arange(len(column)) if column.table is None else column.values))
        listed.extend(column.values.tolist() if column.table is None else column.table)
    codes, table = unique(listed)
    return codes[np.concatenate(places)], table


def by_row(rows: Int64s, values: NDArray[Any], table: list[Json] | None) -> ArgColumn:
    """The column of rows in any order; where a row came twice, its last value counts."""
    if len(rows) > 1 and np.any(rows[1:] <= rows[:-1]):
        order = np.argsort(rows, kind="stable")
        order = order[np.append(np.diff(rows[order]) > 0, True)]
        rows, values = rows[order], values[order]
    return ArgColumn(rows, values, table)
