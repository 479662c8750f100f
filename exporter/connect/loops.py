"""Retry loops: chains of failed attempts of one connector, from the first attempt to the evidence that ends them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel, Field

from exporter.connect.attempts import Attempt

SILENCE_S = 210.0
"""Twice the longest back-off (60 s) and the slowest request (90 s): no attempt for so long means no loop."""

End = Literal["tasks_configured", "connector_gone", "worker_stopped", "gave_up", "silence"]

_KEPT_ENDED = 50


class Loop(BaseModel):
    """One retry loop of one connector on one follower.

    Attributes:
        connector: "" where Kafka's version does not name it.
        attempts: failed attempts so far; parallel chains of one connector count into one loop.
        first_stamp, last_stamp: of the first and the last attempt, as printed.
        first_seen_at, last_seen_at: the exporter's clock at these, seconds; None for history.
        watched_from_at: since when nothing was seen of a loop whose last attempt has no known time.
        end: why it ended; None while active.
    """

    connector: str
    reason: str
    code: int | None
    algorithm: str | None
    permitted: tuple[str, ...]
    leader_url: str | None
    attempts: int
    first_stamp: datetime | None
    last_stamp: datetime | None
    first_seen_at: float | None
    last_seen_at: float | None
    watched_from_at: float | None = None
    end: End | None = None
    ended_stamp: datetime | None = None


class LoopBook(BaseModel):
    """The loops of one worker."""

    active: dict[str, Loop] = Field(default_factory=dict)
    ended: list[Loop] = Field(default_factory=list)

    def failed(self, attempt: Attempt) -> None:
        """Take one failed attempt: it opens a loop or prolongs one; the newest reason is the loop's."""
        loop = self.active.get(attempt.connector)
        if loop is None:
            self.active[attempt.connector] = Loop(
                connector=attempt.connector,
                reason=attempt.reason,
                code=attempt.code,
                algorithm=attempt.algorithm,
                permitted=attempt.permitted,
                leader_url=attempt.leader_url,
                attempts=1,
                first_stamp=attempt.stamp,
                last_stamp=attempt.stamp,
                first_seen_at=attempt.seen_at,
                last_seen_at=attempt.seen_at,
            )
            return
        loop.attempts += 1
        loop.reason, loop.code = attempt.reason, attempt.code
        loop.algorithm, loop.permitted = attempt.algorithm, attempt.permitted
        loop.leader_url = attempt.leader_url or loop.leader_url
        # Both are of this attempt: one read from a history after a live one has a stamp and no moment of reading.
        loop.last_stamp, loop.last_seen_at, loop.watched_from_at = attempt.stamp, attempt.seen_at, None

    def end(self, connector: str, why: End, stamp: datetime | None) -> Loop | None:
        """End the connector's loop, if there is one, and return it."""
        loop = self.active.pop(connector, None)
        if loop is not None:
            loop.end, loop.ended_stamp = why, stamp
            self.ended = [*self.ended[-_KEPT_ENDED + 1 :], loop]
        return loop

    def end_all(self, why: End, stamp: datetime | None) -> None:
        """End every loop."""
        for connector in list(self.active):
            self.end(connector, why, stamp)

    def tasks_configured(self, tasks: str, flow: str, stamp: datetime | None) -> list[Loop]:
        """End the loops of connectors with a task in the text of `Tasks […] configs updated`; return them."""
        ended = []
        for connector in list(self.active):
            name = _in_flow(connector, flow)
            if name and re.search(rf"(?:^|, ){re.escape(name)}-\d+(?:, |$)", tasks):
                loop = self.end(connector, "tasks_configured", stamp)
                ended += [loop] if loop is not None else []
        return ended

    def assigned(self, connectors: str, flow: str, stamp: datetime | None) -> None:
        """End the loops of connectors that are not in the text of an assignment (it is complete for the worker)."""
        for connector in list(self.active):
            name = _in_flow(connector, flow)
            if name and f", {name}, " not in f", {connectors}, ":
                self.end(connector, "connector_gone", stamp)

    def expire_by_stamp(self, last_stamp: datetime | None) -> None:
        """End the loops that were silent in the log's own time."""
        if last_stamp is None:
            return
        for loop in list(self.active.values()):
            if loop.last_stamp is not None and last_stamp - loop.last_stamp > timedelta(seconds=SILENCE_S):
                self.end(loop.connector, "silence", loop.last_stamp)


def _in_flow(connector: str, flow: str) -> str:
    """The connector's own name if it belongs to the flow, else ""."""
    if flow:
        return connector.removeprefix(flow) if connector.startswith(flow) else ""
    return "" if "->" in connector.partition("/")[0] and "/" in connector else connector
