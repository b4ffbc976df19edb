"""JSON bytes of any value, whatever text the target put into it."""

from __future__ import annotations

from typing import Any

import msgspec


def encode(value: object) -> bytes:
    """Return `value` as one line of JSON; characters that UTF-8 cannot carry (lone surrogates) as escapes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_carriable(msgspec.to_builtins(value)))


def carriable(text: str) -> str:
    """Return `text` with lone surrogates (undecodable bytes of a file name, say) written out as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _carriable(value: Any) -> Any:
    if isinstance(value, str):
        return carriable(value)
    if isinstance(value, dict):
        return {_carriable(key): _carriable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_carriable(item) for item in value]
    return value
