"""Whether a test reaches beyond this machine: such a test is not rerun hundreds of times against somebody's server."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from msgspec import Struct

_LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "none"})


class Reach(Struct, frozen=True, kw_only=True):
    """What a test reached for beyond loopback, and the one line that says so."""

    addresses: tuple[str, ...]
    names: tuple[str, ...]
    commands: tuple[str, ...] = ()
    """Program and place, such as `curl https://example.com`."""

    @property
    def statement(self) -> str:
        """One sentence for the user."""
        parts = []
        if self.addresses:
            parts.append(f"connects to {_listed(self.addresses)}")
        if self.names:
            parts.append(f"looks up {_listed(self.names)}")
        if self.commands:
            parts.append(f"starts {_listed(self.commands)}")
        return f"reaches beyond this machine: it {' and '.join(parts)}"


def reach(
    connects: Iterable[str], lookups: Iterable[str], own_names: Iterable[str] = (), commands: Iterable[str] = ()
) -> Reach | None:
    """Return what lies beyond loopback among `connects` (addresses with or without a port) and `lookups` (host names).

    Loopback and unspecified addresses of IPv4 and IPv6, Unix sockets, `localhost` and this machine's `own_names` stay
    inside; everything that cannot be read is taken to reach out, because the harmless mistake is to ask. None if nothing does.
    """
    own = _LOCAL_NAMES | {_plain(name) for name in own_names}
    addresses = tuple(dict.fromkeys(address for address in connects if not _stays(address, own)))
    names = tuple(dict.fromkeys(name for name in lookups if not _stays(name, own)))
    far = tuple(dict.fromkeys(one for one in commands if not _stays(_place(one), own)))
    return Reach(addresses=addresses, names=names, commands=far) if addresses or names or far else None


def _place(command: str) -> str:
    """Return the machine that a command names: `example.com` of `curl https://example.com`."""
    place = command.rpartition(" ")[2]
    return place.partition("://")[2] or place


def _stays(address: str, own: frozenset[str]) -> bool:
    if address.startswith(("/", "@", "\0", "unix:", "./")):
        return True
    host = _host(address)
    try:
        number = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        name = _plain(host)
        return name in own or name.endswith(".localhost")
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is not None:
        number = number.ipv4_mapped
    return number.is_loopback or number.is_unspecified


def _host(address: str) -> str:
    """Return the host of `host`, `host:port`, `[v6]:port` or a bare IPv6 address."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def _plain(name: str) -> str:
    return name.rstrip(".").lower()


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
