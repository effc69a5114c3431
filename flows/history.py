"""The champion's history: one tag a change on the registered model, and who was champion before whom.

A change is written down before the alias moves, so a kill between the two leaves an entry that never came true: the
next entry's `before`, or the alias itself, says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

TAG = "pivotline.champion."
PROMOTED, BACK = "promoted", "rolled back"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One move of the alias `champion`; `before` is None when there was none."""

    number: int
    version: int
    before: int | None
    kind: str  # promoted | rolled back
    reason: str
    at: str

    def tag(self) -> tuple[str, str]:
        """Key and value of the registered model's tag that keeps this change."""
        values = asdict(self)
        return f"{TAG}{values.pop('number'):05d}", json.dumps(values, ensure_ascii=False)


def changes(tags: Mapping[str, str], champion: int | None) -> list[Change]:
    """The changes that came true, oldest first."""
    found = sorted(
        (read(int(key.removeprefix(TAG)), json.loads(value)) for key, value in tags.items() if key.startswith(TAG)),
        key=lambda change: change.number,
    )
    after = [*(change.before for change in found[1:]), champion]
    return [change for change, came in zip(found, after, strict=False) if came == change.version]


def read(number: int, values: dict[str, Any]) -> Change:
    return Change(number=number, **values)


def next_number(tags: Mapping[str, str]) -> int:
    return 1 + max((int(key.removeprefix(TAG)) for key in tags if key.startswith(TAG)), default=0)


def earlier(history: Sequence[Change], champion: int | None) -> list[int]:
    """The versions to go back to, the latest first: a way back undoes one promotion, it adds none."""
    stack: list[int] = []
    for change in history:
        if change.kind == BACK:
            while stack and stack.pop() != change.version:
                continue
        elif change.before is not None and change.before != change.version:
            stack.append(change.before)
    return [version for version in reversed(stack) if version != champion]


def last_reason(history: Sequence[Change], version: int) -> str:
    """Why a version last became champion; empty when it never did."""
    return next((change.reason for change in reversed(history) if change.version == version), "")
