"""Ids of experiments: short, sortable by time, unique in one history."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32 in lower case: no `i`, `l`, `o`, `u`, so nothing is misread and `latest` is never an id."""
EPOCH = 1_704_067_200_000
"""2024-01-01 UTC in milliseconds; eight characters of milliseconds last until 2058."""
TIME_LENGTH = 8
LENGTH = 12
SHORTEST = 4
"""No prefix is shown shorter than this, so that one stays unique for a while."""


def new_id(milliseconds: int, last: str | None = None) -> str:
    """Return an id for this time (since the Unix epoch) that sorts after `last`, even if the clock was set back."""
    moment = max(0, milliseconds - EPOCH)
    if last is not None:
        moment = max(moment, _value(last[:TIME_LENGTH]) + 1)
    tail = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH - TIME_LENGTH))
    return _digits(moment) + tail


def shortest_prefix(experiment: str, others: Sequence[str]) -> str:
    """Return the shortest prefix of `experiment` that none of `others` has; it itself may be among them."""
    length = SHORTEST
    for other in others:
        if other == experiment:
            continue
        while length < len(experiment) and other.startswith(experiment[:length]):
            length += 1
    return experiment[:length]


def _digits(number: int) -> str:
    digits = ""
    for _ in range(TIME_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def _value(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number * len(ALPHABET) + ALPHABET.index(digit)
    return number
