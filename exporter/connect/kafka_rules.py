"""Kafka Connect's own rules about internal requests, as data (KAFKA.md §5 and §7)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

PROTOCOLS = ("eager", "compatible", "sessioned")
"""connect.protocol by the number in `Joined group … with protocol version N`."""

VERIFYING_PROTOCOL = "sessioned"
"""The only protocol under which internal requests are signed and verified."""

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "connect.protocol": "sessioned",
        "inter.worker.signature.algorithm": "HmacSHA256",
        "inter.worker.verification.algorithms": "HmacSHA256",
        "inter.worker.key.generation.algorithm": "HmacSHA256",
        "inter.worker.key.ttl.ms": "3600000",
    }
)
"""Defaults of Kafka 2.4 and later on a JVM that has HmacSHA256."""

CONNECTOR_STATES = ("unassigned", "running", "paused", "stopped", "failed", "restarting", "destroyed")
"""States of a connector or task over all versions."""


def protocol_by_version(number: int) -> str:
    """The protocol elected by the group; `unknown` for a number this program does not know."""
    return PROTOCOLS[number] if 0 <= number < len(PROTOCOLS) else "unknown"


def normal_protocol(text: str | None) -> str | None:
    """connect.protocol is case-insensitive in Kafka; unknown words stay as `unknown`."""
    if text is None:
        return None
    lower = text.strip().lower()
    return lower if lower in PROTOCOLS else "unknown"


def refuses(signature_algorithm: str, verification_algorithms: tuple[str, ...]) -> bool:
    """Whether a leader with this list answers 400 to a follower that signs so; case-sensitive, as in Kafka."""
    return signature_algorithm not in verification_algorithms


def worker_id_of(url: str | None) -> str | None:
    """`host:port` of an advertised URL, the identity of a worker; None where the URL has no host or port."""
    if not url:
        return None
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    if port is None:
        port = {"http": 80, "https": 443}.get(parts.scheme)
    if port is None:
        return None
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
