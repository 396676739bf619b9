"""Results that print as their tables, as text or in a notebook."""

from __future__ import annotations

from vivant.core.table import Table


class ShownTables:
    """A result with `tables()`."""

    __slots__ = ()

    def tables(self) -> list[Table]:
        """What there is to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.tables()))

    def _repr_html_(self) -> str:
        return "\n".join(table._repr_html_() for table in self.tables())
