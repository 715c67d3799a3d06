"""Statements whose SQL is built once for the process, for what a crowd of pages asks when it comes back.

Django builds the SQL of a queryset anew at each call and under the interpreter's lock, which takes several
times as long as SQLite needs for it. The queryset stays the source: columns and conversions are Django's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Built:
    """`places`: for each parameter of the SQL the value's number, or None where `params` has it already."""

    sql: str
    params: Sequence[Any]
    places: Sequence[int | None]
    converters: Sequence[tuple[int, Sequence[Callable[..., Any]], Any]] = ()

    def filled(self, values: Sequence[Any]) -> list[Any]:
        adapted = [_adapted(value) for value in values]
        pairs = zip(self.places, self.params, strict=True)
        return [param if place is None else adapted[place] for place, param in pairs]


class _Statement(ABC):
    """`examples` stand for the values, of the same types; each is unlike any other value in the statement."""

    def __init__(self, *examples: Any) -> None:
        self._examples = examples
        self._built: dict[str, _Built] = {}

    def _executed(self, values: Sequence[Any], cursor: Any) -> _Built:
        built = self._built.get(connection.vendor)
        if built is None:
            built = self._built[connection.vendor] = self._build()
        cursor.execute(built.sql, built.filled(values))
        return built

    @abstractmethod
    def _build(self) -> _Built: ...

    def _places(self, params: Sequence[Any]) -> list[int | None]:
        known = {_adapted(example): number for number, example in enumerate(self._examples)}
        places = [known.get(param) for param in params]
        if not set(range(len(self._examples))) <= set(places):
            raise ValueError(f"an example is not among the parameters: {params}")
        return places


class Selection(_Statement):
    """Rows of `build(*examples)`, a `values_list` queryset, as tuples."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *examples: Any) -> None:
        super().__init__(*examples)
        self._queryset = build

    def rows(self, *values: Any) -> list[Row]:
        with connection.cursor() as cursor:
            built = self._executed(values, cursor)
            rows = cursor.fetchall()
        return [_converted(row, built) for row in rows]

    def _build(self) -> _Built:
        compiler: SQLCompiler = self._queryset(*self._examples).query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        columns = [column[0] for column in compiler.select]
        converters = compiler.get_converters(columns)
        found = [(at, convert, column) for at, (convert, column) in converters.items()]
        return _Built(sql, params, self._places(params), found)


class Change(_Statement):
    """Sets the columns that `build(*examples)` names in the rows of the queryset beside them."""

    def __init__(
        self, build: Callable[..., tuple[QuerySet[Any, Any], Mapping[str, Any]]], *examples: Any
    ) -> None:
        super().__init__(*examples)
        self._change = build

    def made(self, *values: Any) -> int:
        """How many rows it changed."""
        with connection.cursor() as cursor:
            self._executed(values, cursor)
            return int(cursor.rowcount)

    def _build(self) -> _Built:
        queryset, changes = self._change(*self._examples)
        query = cast(UpdateQuery, queryset.order_by().query.chain(UpdateQuery))
        query.add_update_values(dict(changes))
        sql, params = query.get_compiler(connection=connection).as_sql()
        return _Built(sql, params, self._places(params))


def _adapted(value: Any) -> Any:
    """As a field hands it to the database."""
    if isinstance(value, UUID):
        return value if connection.features.has_native_uuid_field else value.hex
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


def _converted(row: Row, built: _Built) -> Row:
    if not built.converters:
        return row
    values = list(row)
    for at, converters, column in built.converters:
        for convert in converters:
            values[at] = convert(values[at], column, connection)
    return tuple(values)
