"""Columns in whatever container: arrays, lists, pandas, Polars, Arrow. By declared types, cell by cell, and without a
conversion that one cell can stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.cells import MISSING, ODD, fill
from tacit.data.columns import Builder, CellColumn
from tacit.errors import DataRefused, extra, type_and_shape


def read_column(column: Any, *, spelling: bool = False) -> CellColumn:
    """One column in whatever container: each cell as ``read_one`` reads it. With ``spelling`` texts are kept as given.

    >>> cells = read_column(["1", 1.0, "n/a", " north "])
    >>> [cells[i] for i in range(4)]
    [1.0, 1.0, None, 'north']
    """
    if isinstance(column, CellColumn):
        return column
    build = Builder(spelling=spelling)
    if isinstance(column, np.ma.MaskedArray):
        column = fill(column.tolist())
    home = type(column).__module__.split(".")[0]
    if isinstance(column, np.ndarray):
        return add_array(build, column)
    if home == "pandas":
        return add_pandas(build, column)
    if home == "datasets":
        column = _take_arrow_column(column)
    if home in ("pyarrow", "datasets"):
        add_arrow(build, column)
        return build.finish()
    if home == "polars":
        return add_polars(build, column)
    try:
        cells = fill(column)
    except TypeError:
        raise DataRefused(f"a column must hold one cell for each row, got {type_and_shape(column)}") from None
    build.add(cells.tolist())
    return build.finish(cells)


def _take_arrow_column(column: Any) -> Any:
    """A column of a Hugging Face dataset in its Arrow form: cell by cell it fails at a date past Python's calendar."""
    source, name = getattr(column, "source", None), getattr(column, "column_name", None)
    if source is None or not hasattr(source, "select_columns"):
        raise DataRefused(f"a column must hold one cell for each row, got {type_and_shape(column)}")
    return source.select_columns([name]).with_format("arrow")[:][name]


def add_array(build: Builder, array: NDArray[Any]) -> CellColumn:
    """A NumPy array of one dimension, by its type."""
    if array.ndim != 1:
        raise DataRefused(f"a column must have shape (rows,), got shape {array.shape}")
    kind = array.dtype.kind
    if kind == "f":
        with np.errstate(all="ignore"):
            build.add_numbers(array.astype(float))
    elif kind in "iu":
        build.add_whole(array)
    elif kind == "b":
        build.add_numbers(array.astype(float))
    elif kind == "M":
        build.add_times(array)
    elif kind == "m":
        build.add_nothing(np.where(np.isnat(array), MISSING, ODD).astype(np.int8))
    elif kind == "V":
        build.add_nothing(np.full(len(array), ODD, np.int8))
    else:
        cells = array if kind == "O" else fill(array.tolist())
        build.add(cells.tolist())
        return build.finish(cells)
    return build.finish()


def add_pandas(build: Builder, column: Any) -> CellColumn:
    """A Series, an Index or an array of pandas."""
    pandas = extra("pandas", "sklearn", "a pandas column")
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return add_array(build, np.asarray(column))
    if isinstance(dtype, pandas.CategoricalDtype):
        return _add_categories(build, pandas.Categorical(column))
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
        arrow = extra("pyarrow", "parquet", "a column of Arrow")
        add_arrow(build, arrow.chunked_array(column.array.__arrow_array__()) if hasattr(column, "array") else column)
        return build.finish()
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return add_array(build, np.asarray(pandas.DatetimeIndex(column).tz_convert("UTC").tz_localize(None)))
    kind = getattr(dtype, "kind", "O")
    absent = np.asarray(pandas.isna(column), bool)
    if kind in "iu" and not isinstance(dtype, pandas.SparseDtype):
        build.add_whole(column.to_numpy(dtype.numpy_dtype, na_value=0), absent)
        return build.finish()
    if kind in "fb" and not isinstance(dtype, pandas.SparseDtype):
        build.add_numbers(column.to_numpy(float, na_value=np.nan))
        return build.finish()
    return add_array(build, fill(np.asarray(column, object)))


def _add_categories(build: Builder, column: Any) -> CellColumn:
    """Each category is a cell, read once."""
    each, codes = read_column(column.categories), np.asarray(column.codes, np.intp)
    raw = each.raw
    last = Builder()
    last.add_cells(each)
    last.add_nothing(np.full(1, MISSING, np.int8))  # -1
    taken = last.finish(None if raw is None else fill([*raw.tolist(), None])).take(codes)
    return replace(taken, categorical=True)


def add_polars(build: Builder, column: Any) -> CellColumn:
    """A Series of Polars."""
    if str(column.dtype) == "Object":
        return add_array(build, fill(column.to_list()))
    add_arrow(build, column.to_arrow())
    return build.finish()


def add_arrow(build: Builder, column: Any) -> None:
    """An Arrow array or chunked array. What a cell's own type cannot say as number, text or time is missing."""
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        _add_chunk(build, chunk)


def _add_chunk(build: Builder, chunk: Any) -> None:
    arrow = extra("pyarrow", "parquet", "a column of Arrow")
    types, kind = arrow.types, chunk.type
    if isinstance(kind, arrow.BaseExtensionType):
        return _add_chunk(build, chunk.storage)
    if types.is_run_end_encoded(kind):
        return _add_chunk(build, arrow.compute.run_end_decode(chunk))
    absent = np.asarray(chunk.is_null().to_numpy(zero_copy_only=False), bool)
    if types.is_dictionary(kind):
        return _add_dictionary(build, chunk, absent)
    if types.is_boolean(kind):
        numbers = chunk.cast(arrow.int8()).fill_null(0).to_numpy(zero_copy_only=False)
        return build.add_numbers(np.where(absent, np.nan, numbers.astype(float)))
    if types.is_integer(kind):
        return build.add_whole(chunk.fill_null(0).to_numpy(zero_copy_only=False), absent)
    if types.is_floating(kind):
        numbers = chunk.to_numpy(zero_copy_only=False).astype(float)
        return build.add_numbers(np.where(absent, np.nan, numbers))
    if types.is_string(kind) or types.is_large_string(kind) or _is_view(kind) or _is_bytes(types, kind):
        return _add_texts(build, chunk, absent)
    if types.is_timestamp(kind) or types.is_date(kind):
        return build.add_times(_moments(chunk, absent))
    if types.is_decimal(kind):
        return build.add(chunk.to_pylist())
    return build.add_nothing(np.where(absent, MISSING, ODD).astype(np.int8))


def _is_view(kind: Any) -> bool:
    return str(kind) in ("string_view", "binary_view")


def _is_bytes(types: Any, kind: Any) -> bool:
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _add_texts(build: Builder, chunk: Any, absent: NDArray[np.bool_]) -> None:
    """Texts by their bytes: Arrow does not look whether they are UTF-8, and who does stops at the first that is not."""
    arrow = extra("pyarrow", "parquet", "a column of Arrow")
    if _is_view(chunk.type):
        chunk = chunk.cast(arrow.large_string() if str(chunk.type) == "string_view" else arrow.large_binary())
    if arrow.types.is_fixed_size_binary(chunk.type):
        chunk = chunk.cast(arrow.binary())
    if arrow.types.is_string(chunk.type) or arrow.types.is_large_string(chunk.type):
        chunk = chunk.view(arrow.binary() if arrow.types.is_string(chunk.type) else arrow.large_binary())
    coded = chunk.dictionary_encode()
    texts = [cell.decode("utf-8", "replace") for cell in coded.dictionary.to_pylist()]
    codes = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    build.add_coded(texts, np.where(absent, -1, codes))


def _add_dictionary(build: Builder, chunk: Any, absent: NDArray[np.bool_]) -> None:
    each = Builder()
    each.add_cells(read_column(chunk.dictionary))
    each.add_nothing(np.full(1, MISSING, np.int8))
    codes = chunk.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.intp)
    build.add_cells(each.finish().take(np.where(absent, -1, codes)))


def _moments(chunk: Any, absent: NDArray[np.bool_]) -> NDArray[np.datetime64]:
    arrow = extra("pyarrow", "parquet", "a column of Arrow")
    if arrow.types.is_date(chunk.type):
        unit, whole = ("D", arrow.int32()) if arrow.types.is_date32(chunk.type) else ("ms", arrow.int64())
    else:
        unit, whole = chunk.type.unit, arrow.int64()
    counts = chunk.view(whole).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    moments = counts.view(f"datetime64[{unit}]")
    found: Any = np.where(absent, np.array("NaT", moments.dtype), moments)
    return np.asarray(found, moments.dtype)
