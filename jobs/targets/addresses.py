"""Which internet addresses a target may have: public ones, and those the installation lists.

The table is our own. Python 3.11 calls NAT64, 6to4, site-local, multicast and two clouds' inside
addresses global; so what an address *carries* is unwrapped first, then comes the table, then
`is_global`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_REFUSED_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier NAT; Alibaba's metadata
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's host, a public address by the registry
            "169.254.0.0/16",  # link-local; most clouds' metadata
            "172.16.0.0/12",
            "192.0.0.0/24",  # Oracle's metadata is 192.0.0.192
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
# Only 2000::/3 is global unicast: unique-local, link-local, site-local, multicast, the discard
# prefix, IPv4-compatible, IPv4-translated and local NAT64 all lie outside it.
_UNICAST_6 = IPv6Network("2000::/3")
_REFUSED_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))

_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: Address) -> bool:
    """Whether an address lies on the public internet, in whatever form it is written."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _REFUSED_4)
    carried = tuple(_carried(address))
    if address.ipv4_mapped or address in _NAT64 or address.sixtofour or address.teredo:
        return all(map(is_public, carried))
    return (
        all(map(is_public, carried))
        and address in _UNICAST_6
        and address.is_global
        and not any(address in network for network in _REFUSED_6)
    )


def plain(address: Address) -> Address:
    """An IPv4 address mapped into IPv6 as the IPv4 address that is dialled; others unchanged."""
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def _carried(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that a gateway would send packets for this address to."""
    low = int(address) & 0xFFFFFFFF
    if address.ipv4_mapped or address in _NAT64:
        yield IPv4Address(low)
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        yield IPv4Address(low)


class AllowListError(ValueError):
    """An entry of the egress list that cannot be read; the text names the entry and the remedy."""


@dataclass(frozen=True)
class Allowed:
    """A network inside the installation that targets may have; `port` None means every port."""

    network: Network
    port: int | None = None

    def covers(self, address: Address, port: int) -> bool:
        # An address of the other version is in no network, which `in` answers with False.
        return address in self.network and self.port in (None, port)


@dataclass(frozen=True)
class AllowList:
    """The inside networks that an administrator has opened to targets."""

    entries: tuple[Allowed, ...] = ()

    @classmethod
    def parse(cls, text: str) -> AllowList:
        """Read `network[:port]` entries set apart by commas, as `127.0.0.1/32:9000`.

        IPv6 is written `fd00::/8`, `[fd00::]/8:9000` or `[::1]:9000`. Raises AllowListError.
        """
        entries = (entry.strip() for entry in text.split(","))
        return cls(tuple(_allowed(entry) for entry in entries if entry))

    def allows(self, address: Address, port: int) -> bool:
        """Whether targets may have this address and port: public, or listed."""
        return is_public(address) or self.lists(address, port)

    def lists(self, address: Address, port: int) -> bool:
        """Whether an entry names this very address; nothing carried inside another counts."""
        return any(entry.covers(plain(address), port) for entry in self.entries)

    @property
    def is_open(self) -> bool:
        """Whether an entry opens everything, which no production installation may have."""
        return any(entry.network.prefixlen == 0 for entry in self.entries)


_ENTRY = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+)|(?P<bare>[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*))"
    r"(?P<prefix>/[0-9]{1,3})?"
    r"(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)


def _allowed(entry: str) -> Allowed:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise AllowListError(_complaint(entry, "is not network[:port]"))
    host = found["six"] or found["four"] or found["bare"]
    return Allowed(_network(entry, host + (found["prefix"] or "")), _port(entry, found["port"]))


def _network(entry: str, text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise AllowListError(_complaint(entry, f"is not a network: {error}")) from None


def _port(entry: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not 1 <= int(text) <= 65535:
        raise AllowListError(_complaint(entry, "has a port outside 1 to 65535"))
    return int(text)


def _complaint(entry: str, what: str) -> str:
    return (
        f"egress list: {entry[:80]!r} {what}; write entries as 10.1.0.0/16, 127.0.0.1/32:9000"
        " or [fd00::]/8:443, set apart by commas"
    )


def literal(host: str) -> Address | None:
    """The address that a host spells out (`localhost` too); None for a name to be looked up."""
    if host.lower().rstrip(".").rpartition(".")[2] == "localhost":
        return IPv4Address("127.0.0.1")
    try:
        return ip_address(host)
    except ValueError:
        return None
