"""What the URL of a target may look like, and its parts."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from jobs.targets.addresses import AllowList, literal
from jobs.targets.errors import REQUIRED, TargetError

MAX_URL = 2_048

# Ports where a text protocol other than HTTP might obey a request: what browsers refuse
# (the Fetch standard's list), and the usual ports of data stores and brokers.
REFUSED_PORTS = frozenset(
    {0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95}
    | {101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179}
    | {389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601}
    | {636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566}
    | {6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
    | {3306, 5432, 5672, 6379, 11211, 27017}
)

_DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"(?P<scheme>[^:/?#]*)://(?P<authority>[^/?#]*)(?P<path>[^#]*)(?P<fragment>#.*)?")
_AUTHORITY = re.compile(r"(?:\[(?P<six>[^\[\]]*)\]|(?P<name>[^:\[\]]*))(?P<port>:[0-9]{1,5})?")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")


@dataclass(frozen=True)
class Place:
    """Where a URL leads: `host` without brackets, `path` with its query and never empty."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port; secrets given for one origin are not sent to another."""
        return self.scheme, self.host, self.port


def split_url(
    url: object, field: str = "target.url", *, ports: Collection[int] | None = None
) -> Place:
    """The parts of an acceptable URL; TargetError says what is wrong with any other.

    `ports` are the only ports allowed; None allows every port but REFUSED_PORTS.
    """
    text = _checked_text(url, field)
    found = _URL.fullmatch(text)
    if found is None:
        raise TargetError(field, url, "is not a full URL", "write it as https://host/path")
    scheme = found["scheme"].lower()
    if scheme not in _DEFAULT_PORTS:
        raise TargetError(field, url, "is neither http nor https", "use https://host/path")
    if found["fragment"] is not None:
        raise TargetError(field, url, "has a fragment, which is never sent", "take out the # part")
    host, port = _host_and_port(found["authority"], text, field)
    place = Place(scheme, host, _DEFAULT_PORTS[scheme] if port is None else port, _path(found))
    _check_port(place.port, text, ports, field)
    return place


def check_reachable(place: Place, allow: AllowList, field: str = "target.url") -> None:
    """Refuse a host spelled out as an inside address. For comfort when saving: the rule itself is
    kept by egress, on the addresses that the name has at the time of the call.
    """
    address = literal(place.host)
    if address is not None and not allow.allows(address, place.port):
        raise TargetError(
            field, place.host, "is inside the installation's network", "ask an administrator"
        )


def _checked_text(url: object, field: str) -> str:
    if not isinstance(url, str):
        raise TargetError(field, url, "is not text", "write it as https://host/path")
    if not url:
        raise TargetError(field, url, REQUIRED, "write it as https://host/path")
    if len(url) > MAX_URL:
        raise TargetError(field, url, f"is longer than {MAX_URL} characters", "shorten it")
    if "\\" in url or any(not "!" <= character <= "~" for character in url):
        raise TargetError(
            field,
            url,
            "holds a space, a backslash, a control or a non-ASCII character",
            "percent-encode paths and queries, write host names in their xn-- form",
        )
    return url


def _path(found: re.Match[str]) -> str:
    path = found["path"]
    return path if path.startswith("/") else f"/{path}"


def _host_and_port(authority: str, url: str, field: str) -> tuple[str, int | None]:
    if "@" in authority:
        raise TargetError(
            field, "…@…", "holds a user name or password", "send an Authorization header instead"
        )
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise TargetError(field, url, "has no readable host and port", "write host or host:port")
    port = int(found["port"][1:]) if found["port"] else None
    if found["six"] is not None:
        return _six(found["six"], url, field), port
    return _name(found["name"], url, field), port


def _six(text: str, url: str, field: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise TargetError(field, url, "has no IPv6 address in its brackets", "mend it") from None
    if address.scope_id is not None:
        raise TargetError(field, url, "names a network interface", "take out the % part")
    return str(address)


def _name(text: str, url: str, field: str) -> str:
    name = text.lower()
    labels = name.removesuffix(".").split(".")
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise TargetError(field, url, "has no host, or not a host name", "write https://host/path")
    if _NUMBER.fullmatch(labels[-1]):
        _check_four(name, url, field)
    return name


def _check_four(name: str, url: str, field: str) -> None:
    """127.1, 2130706433 or 0x7f.1: resolvers read them as addresses, people do not."""
    try:
        IPv4Address(name)
    except ValueError:
        hint = "write an IPv4 address as four decimal numbers"
        raise TargetError(field, url, "has a host that ends in a number", hint) from None


def _check_port(port: int, url: str, ports: Collection[int] | None, field: str) -> None:
    if port > 65535:
        raise TargetError(field, url, f"names {port}, which is no port", "use 80, 443 or another")
    if ports is not None and port not in ports:
        listed = ", ".join(map(str, sorted(ports)))
        problem = f"names port {port}, which is not allowed"
        raise TargetError(field, url, problem, f"use one of {listed}")
    if port in REFUSED_PORTS:
        problem = f"names port {port}, on which no HTTP target listens"
        raise TargetError(field, url, problem, "use 80, 443 or another")
