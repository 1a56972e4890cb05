"""What a request comes to, before it is written: a Plan, under the Stamp of the write that it is made for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from preferences.model import Actor, Preference, Report, Suggestion, Thread


@dataclass(frozen=True, slots=True)
class Stamp:
    """The write that a plan is made for: its revision, by whom, when (ISO 8601, UTC) and why."""

    revision: int
    actor: Actor
    at: str
    who: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows as they shall stand, ids of rows to remove, and what to report of each element of the request."""

    puts: tuple[Preference, ...] = ()
    removes: tuple[str, ...] = ()
    reports: tuple[Report, ...] = ()
    generation: Literal["goes on", "begins", "ends"] = "goes on"
    """Whether the write registers or restores the thread (`begins`), or deletes it (`ends`)."""
    suggestions: tuple[Suggestion, ...] | None = None
    """All that wait from then on; None: as before. Outdated ones go with every write."""
    dismissed: tuple[str, ...] = ()
    """Digests of suggestions that the user turned down with this request."""
    reasoning: str | None = None
    """The agent's reason, where the user accepted a suggestion."""
    title: str | None = None
    """The thread's title from then on, empty for none; None: as before."""

    @property
    def changes_nothing(self) -> bool:
        return (
            not self.puts
            and not self.removes
            and self.suggestions is None
            and self.generation == "goes on"
            and self.title is None
        )

    def rows_after(self, now: Thread) -> list[Preference]:
        """The list as it will be, in order."""
        rows = {row.id: row for row in now.preferences} | {row.id: row for row in self.puts}
        staying = [row for row in rows.values() if row.id not in self.removes]
        return sorted(staying, key=lambda row: (row.rank, row.id))


def renumbers(now: Thread, rows: Sequence[Preference]) -> bool:
    """Whether a row that stays gets another position, where `rows` are the list as it will be."""
    return any(now.positions.get(row.id, n) != n for n, row in enumerate(rows, 1))
