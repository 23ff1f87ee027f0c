"""JSON in text columns, taken apart by the database: one way to write it, whichever database it is."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Elements(FunctionElement[Any]):
    name = "json_elements"
    inherit_cache = True


class _Members(FunctionElement[Any]):
    name = "json_members"
    inherit_cache = True


def _on_sqlite(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - the compiler's own
    return f"json_each({compiler.process(element.clauses, **options)})"


def _on_postgresql(called: str) -> Any:  # noqa: ANN401 - a compiler's function
    def write(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - the compiler's own
        return f"{called}(CAST({compiler.process(element.clauses, **options)} AS JSONB))"

    return write


for _element, _called in ((_Elements, "jsonb_array_elements_text"), (_Members, "jsonb_each_text")):
    compiles(_element, "sqlite")(_on_sqlite)
    compiles(_element, "postgresql")(_on_postgresql(_called))


def elements_of(column: sa.ColumnElement[str]) -> sa.TableValuedAlias:
    """The texts of a list, as rows with a `value`."""
    return _Elements(column).table_valued(sa.column("value", sa.String))


def members_of(column: sa.ColumnElement[str]) -> sa.TableValuedAlias:
    """The members of an object of texts, as rows with a `key` and a `value`."""
    return _Members(column).table_valued(sa.column("key", sa.String), sa.column("value", sa.String))


def may_name(column: sa.ColumnElement[str], name: str) -> sa.ColumnElement[bool]:
    """Whether a list of names may hold this one: asked first, it spares most lists from being taken apart."""
    return column.contains(msgspec.json.encode(name).decode(), autoescape=True)


def names(column: sa.ColumnElement[str], name: str) -> sa.ColumnElement[bool]:
    """Whether a list of names holds this one."""
    each = elements_of(column)
    found = sa.select(sa.literal(1)).select_from(each).where(each.c.value == name)
    return sa.and_(may_name(column, name), sa.exists(found))
