"""Ids of experiments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triage.store.ids import ALPHABET, EPOCH, LENGTH, SHORTEST, new_id, shortest_prefix

MOMENTS = st.integers(min_value=EPOCH, max_value=EPOCH + 32**8 - 2)


@given(MOMENTS, MOMENTS)
def test_ids_sort_by_time(one: int, other: int) -> None:
    first, second = sorted((one, other))
    if first < second:
        assert new_id(first) < new_id(second)


@given(MOMENTS, MOMENTS)
def test_an_id_sorts_after_the_last_one(one: int, other: int) -> None:
    last = new_id(one)
    assert new_id(other, last) > last


@given(MOMENTS)
def test_an_id_is_short_and_plain(moment: int) -> None:
    identity = new_id(moment)
    assert len(identity) == LENGTH
    assert set(identity) <= set(ALPHABET)


@given(st.sets(st.text("01", min_size=6, max_size=6), min_size=1))
def test_shortest_prefix_is_unique_and_shortest(ids: set[str]) -> None:
    for identity in ids:
        prefix = shortest_prefix(identity, sorted(ids))
        assert [other for other in ids if other.startswith(prefix)] == [identity]
        if len(prefix) > SHORTEST:
            assert len([other for other in ids if other.startswith(prefix[:-1])]) > 1
