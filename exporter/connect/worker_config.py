"""A worker's signing configuration, from its start-up dump or its properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from exporter.connect.kafka_rules import DEFAULTS, normal_protocol


class WorkerConfig(BaseModel):
    """What decides who signs how and who permits what (KAFKA.md §5). None is unknown.

    `key_ttl_s` is in seconds; 0 means that the key never expires.
    """

    model_config = ConfigDict(frozen=True)

    group_id: str | None = None
    config_topic: str | None = None
    connect_protocol: str | None = None
    signature_algorithm: str | None = None
    verification_algorithms: tuple[str, ...] | None = None
    key_generation_algorithm: str | None = None
    key_ttl_s: float | None = None
    source: Literal["dump", "properties"] = "dump"


def from_dump(lines: tuple[str, ...]) -> WorkerConfig:
    """Read the lines of `DistributedConfig values:`, `key = value`, defaults filled in, lists in brackets."""
    pairs: dict[str, str] = {}
    for line in lines:
        key, separator, value = line.strip().partition(" =")
        if separator:
            pairs[key] = value.strip()
    listed = pairs.get("inter.worker.verification.algorithms")
    return _config(pairs, _split_list(listed) if listed is not None else None, "dump")


def from_properties(properties: Mapping[str, str]) -> WorkerConfig:
    """Read a worker's properties; Kafka's defaults for missing keys, None for an unresolved `${provider:key}`."""
    known = {key: properties.get(key, default) for key, default in DEFAULTS.items()}
    known |= {key: properties[key] for key in ("group.id", "config.storage.topic") if key in properties}
    resolved = {key: value for key, value in known.items() if "${" not in value or ":" not in value}
    listed = resolved.get("inter.worker.verification.algorithms")
    return _config(resolved, _split_list(listed) if listed is not None else None, "properties")


def _split_list(text: str) -> tuple[str, ...]:
    inner = text.strip().removeprefix("[").removesuffix("]")
    return tuple(part.strip() for part in inner.split(",") if part.strip())


def _config(
    pairs: Mapping[str, str],
    verification: tuple[str, ...] | None,
    source: Literal["dump", "properties"],
) -> WorkerConfig:
    ttl = pairs.get("inter.worker.key.ttl.ms")
    return WorkerConfig(
        group_id=pairs.get("group.id"),
        config_topic=pairs.get("config.storage.topic"),
        connect_protocol=normal_protocol(pairs["connect.protocol"]) if "connect.protocol" in pairs else None,
        signature_algorithm=pairs.get("inter.worker.signature.algorithm"),
        verification_algorithms=verification,
        key_generation_algorithm=pairs.get("inter.worker.key.generation.algorithm"),
        key_ttl_s=int(ttl) / 1000 if ttl is not None and ttl.isdigit() else None,
        source=source,
    )
