"""One failed attempt is one count, whatever number of lines it printed (KAFKA.md §1.1)."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from exporter.connect import access_log, reasons
from exporter.connect.events import ForwardFailed, HandOverFailed, ReconfigureFailed


class Attempt(BaseModel):
    """One failed attempt to hand over a connector's task configurations.

    Attributes:
        connector: "" where no line named it.
        leader_url: from the forward URL (Kafka 3.9 and later), else None.
        request_made: line b was there: the follower did ask the leader.
        stamp: of the attempt's first line that counts, as printed.
        seen_at: the exporter's clock when it was read live, seconds; None for history.
    """

    connector: str
    reason: str
    code: int | None
    algorithm: str | None
    permitted: tuple[str, ...]
    leader_url: str | None
    request_made: bool
    stamp: datetime | None
    seen_at: float | None


class _Pending(BaseModel):
    """Line b, waiting for its line c, which hides at DEBUG in the first minute of 403s."""

    connector: str
    cause: str
    leader_url: str | None
    stamp: datetime | None
    seen_at: float | None
    waits_from_at: float | None = None
    """The exporter's clock when nothing but time was left to wait for, seconds."""


class Pairing(BaseModel):
    """Joins lines a, b and c of one worker. Forwarding runs on one thread, so their order is enough."""

    url: str | None = None
    pending: _Pending | None = None

    def forward_failed(self, event: ForwardFailed) -> None:
        """Take line a: remember the URL if it is a hand-over of tasks; user requests are forwarded too."""
        path = urlsplit(event.url).path if event.url else ""
        internal = access_log.connector_of_path(path)
        self.url = event.url if internal is not None and internal[0] == "tasks" else None

    def hand_over_failed(self, event: HandOverFailed, stamp: datetime | None, seen_at: float | None) -> Attempt | None:
        """Take line b.

        Returns:
            The attempt of the line b before it, if no line c followed that.
        """
        before = self.flush()
        connector, leader_url = _of_url(self.url, event.flow)
        self.url = None
        self.pending = _Pending(
            connector=connector, cause=event.cause, leader_url=leader_url, stamp=stamp, seen_at=seen_at
        )
        return before

    def reconfigure_failed(
        self, event: ReconfigureFailed, stamp: datetime | None, seen_at: float | None
    ) -> tuple[Attempt, ...]:
        """Take line c: it completes the pending line b, or is an attempt without request of another connector."""
        pending = self.pending
        if pending is not None and _belongs(pending, event):
            self.pending = None
            return (_attempt(pending, event.connector or pending.connector),)
        before = self.flush()
        verdict = reasons.from_cause(event.cause, event.connector, request_made=False)
        own = Attempt(
            connector=event.connector,
            reason=verdict.reason,
            code=verdict.code,
            algorithm=verdict.algorithm,
            permitted=verdict.permitted,
            leader_url=None,
            request_made=False,
            stamp=stamp,
            seen_at=seen_at,
        )
        return (own,) if before is None else (before, own)

    def flush(self) -> Attempt | None:
        """The pending line b as an attempt of its own: nothing more belongs to it."""
        pending, self.pending = self.pending, None
        return None if pending is None else _attempt(pending, pending.connector)


def _belongs(pending: _Pending, event: ReconfigureFailed) -> bool:
    if event.cause and event.cause != pending.cause:
        return False
    return not (pending.connector and event.connector) or unquote(pending.connector) == unquote(event.connector)


def _of_url(url: str | None, flow: str) -> tuple[str, str | None]:
    if url is None:
        return "", None
    parts = urlsplit(url)
    internal = access_log.connector_of_path(parts.path)
    connector = internal[1] if internal is not None else ""
    if flow and connector.startswith(flow.removesuffix("/")):
        return connector, f"{parts.scheme}://{parts.netloc}/"
    base = parts.path.partition("/connectors/")[0] if "->" not in connector else ""
    return connector, f"{parts.scheme}://{parts.netloc}{base}/"


def _attempt(pending: _Pending, connector: str) -> Attempt:
    verdict = reasons.from_cause(pending.cause, connector, request_made=True)
    return Attempt(
        connector=connector,
        reason=verdict.reason,
        code=verdict.code,
        algorithm=verdict.algorithm,
        permitted=verdict.permitted,
        leader_url=pending.leader_url,
        request_made=True,
        stamp=pending.stamp,
        seen_at=pending.seen_at,
    )
