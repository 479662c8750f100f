"""Why a hand-over of task configurations failed: one row per reason, and how to recognise it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

Severity = Literal["critical", "warning", "info"]

URL_UNSAFE = re.compile(r"[/;\\%]")
"""Names with these characters do not reach the leader as they are (KAFKA-LIVE.md §8, S12ok)."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause of failed attempts.

    Attributes:
        id: value of the label `reason`.
        severity: of a loop with this reason.
        summary: what it means, one sentence.
        remedies: what to do, smaller change first.
    """

    id: str
    severity: Severity
    summary: str
    remedies: tuple[str, ...]


REASONS: dict[str, Reason] = {
    reason.id: reason
    for reason in (
        Reason(
            "algorithm_not_permitted",
            "critical",
            "The leader does not permit the algorithm this worker signs its internal requests with.",
            (
                "On the follower set inter.worker.signature.algorithm to an algorithm that the leader permits, and restart it.",
                "Or add the follower's algorithm to inter.worker.verification.algorithms on all other workers, and restart them one by one.",
            ),
        ),
        Reason(
            "missing_signature",
            "warning",
            "The leader got an internal request without signature.",
            (
                "Bring all workers to one Kafka version of 2.4 or later and one connect.protocol.",
                "A short burst after a change of leader ends by itself; if it lasts, look for a proxy that drops the X-Connect-… headers.",
            ),
        ),
        Reason(
            "invalid_signature",
            "critical",
            "The leader's session key does not match the signature.",
            (
                "Check that all workers with this group.id have the same config.storage.topic and the same brokers.",
                "Check that no proxy between the workers changes request bodies.",
                "Restart the leader, so that it reads the session key anew.",
            ),
        ),
        Reason(
            "not_leader",
            "warning",
            "The worker that was asked is not the leader.",
            ("Wait for the rebalance to end; if it lasts, look why the group does not settle.",),
        ),
        Reason(
            "no_session_key",
            "warning",
            "The leader has not read a session key yet.",
            ("Check that the leader can write to and read from the config topic; restart it if it cannot.",),
        ),
        Reason(
            "no_such_connector",
            "critical",
            "The request reaches the leader under another connector name.",
            ("Rename the connector: names with / ; \\ or % cannot be handed over.",),
        ),
        Reason(
            "leader_unreachable",
            "critical",
            "The leader's advertised REST address cannot be reached.",
            (
                "From the follower open the leader's advertised URL; correct rest.advertised.host.name, rest.advertised.port, DNS or the firewall.",
            ),
        ),
        Reason(
            "leader_unknown",
            "critical",
            "This worker has no REST address of the leader.",
            (
                "Set listeners and rest.advertised.host.name on every worker.",
                "MirrorMaker 2 in dedicated mode: set dedicated.mode.enable.internal.rest=true (Kafka 3.5 and later).",
            ),
        ),
        Reason(
            "response_unreadable",
            "critical",
            "Something other than Connect answers at the leader's address.",
            ("Find the proxy, mesh or load balancer at the leader's advertised URL and take it out of the way.",),
        ),
        Reason(
            "connector_error",
            "warning",
            "The connector's own code cannot compute its task configurations; no request was refused.",
            ("Read the exception under the line in the worker's log and correct the connector's configuration.",),
        ),
        Reason(
            "other",
            "critical",
            "The hand-over of task configurations fails for a cause that is not known here.",
            ("Read the exception under the line in the worker's log.",),
        ),
    )
}

_ALGORITHM = re.compile(
    r"does not support the '(?P<algorithm>.*?)' key signing algorithm.*?configured to use: \[(?P<permitted>[^\]]*)\]",
    re.DOTALL,
)

# Text of the exception head → reason and the leader's own status (KAFKA.md §2); first match wins.
_TEXTS: tuple[tuple[re.Pattern[str], str, int | None], ...] = (
    (re.compile(r"does not support the '.*?' key signing algorithm", re.DOTALL), "algorithm_not_permitted", 400),
    (re.compile(r"request missing required signature"), "missing_signature", 400),
    (re.compile(r"request contained invalid signature"), "invalid_signature", 403),
    (re.compile(r"no known leader URL|conflicting operation"), "not_leader", 409),
    (re.compile(r"not been able to read a session key"), "no_session_key", 503),
    (re.compile(r"No installed provider supports this key"), "no_session_key", 500),
    (re.compile(r"URL of the leader's REST interface is empty"), "leader_unknown", None),
    (re.compile(r"not able to communicate with the leader of the cluster"), "leader_unknown", None),
    (
        re.compile(r"ConnectRestException: (?:Error trying to forward REST request: )?Connector .* not found"),
        "no_such_connector",
        404,
    ),
    (
        re.compile(
            r"Unexpected character|Unrecognized (?:field|token)|Unexpected end-of-input|Cannot deserialize|No content to map"
            r"|JsonParseException|JsonMappingException|MismatchedInputException"
        ),
        "response_unreadable",
        None,
    ),
    (re.compile(r"IO Error trying to forward REST request"), "leader_unreachable", None),
    (re.compile(r"Error trying to forward REST request|ConnectRestException"), "other", None),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why one attempt failed.

    Attributes:
        reason: id of a row of `REASONS`.
        code: the leader's own status, inferred from its text where a version masks it as 500; None if it did not answer so.
        algorithm: what the follower signed with, for algorithm_not_permitted.
        permitted: the leader's list, for algorithm_not_permitted.
    """

    reason: str
    code: int | None = None
    algorithm: str | None = None
    permitted: tuple[str, ...] = ()


def from_cause(cause: str, connector: str = "", *, request_made: bool) -> Verdict:
    """Tell the reason from the exception head of line b or c.

    Args:
        cause: the text of the exception head.
        connector: the connector's name, "" if unknown: Jetty answers its own 400 to names it cannot route.
        request_made: line b was there. Without it the connector's own code failed, or the leader's address is unknown.
    """
    for pattern, reason, code in _TEXTS:
        if not pattern.search(cause):
            continue
        if not request_made and reason != "leader_unknown":
            break
        if reason == "algorithm_not_permitted":
            found = _ALGORITHM.search(cause)
            permitted = tuple(p.strip() for p in found["permitted"].split(",") if p.strip()) if found else ()
            return Verdict(reason, code, found["algorithm"] if found else None, permitted)
        if reason == "response_unreadable" and 'Unrecognized field "url"' in cause and URL_UNSAFE.search(connector):
            return Verdict("no_such_connector", 400)
        return Verdict(reason, code)
    return Verdict("other" if request_made else "connector_error")


ALGORITHM_BODY_BYTES_MIN = 301
"""The shortest body of `This worker does not support the '…' key signing algorithm` (KAFKA.md §2)."""


def from_access(code: int, body_bytes: int | None) -> str | None:
    """Tell the reason from an access line's status and body size; None where they do not decide (KAFKA.md §2)."""
    if body_bytes is None:
        return None
    if (code, body_bytes) == (400, 74):
        return "missing_signature"
    if (code, body_bytes) == (403, 76):
        return "invalid_signature"
    if code == HTTPStatus.BAD_REQUEST and body_bytes >= ALGORITHM_BODY_BYTES_MIN:
        return "algorithm_not_permitted"
    return None
