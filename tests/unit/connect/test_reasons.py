"""Why an attempt failed, told from Kafka's own texts."""

from __future__ import annotations

import pytest

from exporter.connect import reasons
from exporter.connect.reasons import REASONS, Verdict, from_access, from_cause

REST = "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException: "
MISMATCH = (
    "This worker does not support the 'HmacSHA512' key signing algorithm used by other workers. This worker is currently "
    "configured to use: [HmacSHA256, HmacSHA384]. Check that all workers' configuration files permit the same set of "
    "signature algorithms, and correct any misconfigured worker and restart it."
)


@pytest.mark.parametrize("mask", ["", "Error trying to forward REST request: "])
@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ("Internal request missing required signature", "missing_signature", 400),
        ("Internal request contained invalid signature.", "invalid_signature", 403),
        ("Cannot complete request momentarily due to no known leader URL, likely because …", "not_leader", 409),
        ("Cannot complete request because of a conflicting operation (e.g. worker rebalance)", "not_leader", 409),
        (
            "This worker is still starting up and has not been able to read a session key from the config topic yet",
            "no_session_key",
            503,
        ),
        ("java.security.InvalidKeyException: No installed provider supports this key: (null)", "no_session_key", 500),
        ("Connector slash/b not found", "no_such_connector", 404),
        ("Request timed out", "other", None),
    ],
)
def test_texts_of_refusals(mask: str, text: str, reason: str, code: int | None) -> None:
    """The leader's text decides, also where Kafka 2.8.1-3.3.2 masks its status as 500."""
    assert from_cause(REST + mask + text, request_made=True) == Verdict(reason, code)


def test_a_mismatch_names_algorithm_and_list() -> None:
    """The refusal carries what the follower signs with and what the leader permits."""
    assert from_cause(REST + MISMATCH, request_made=True) == Verdict(
        "algorithm_not_permitted", 400, "HmacSHA512", ("HmacSHA256", "HmacSHA384")
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "IO Error trying to forward REST request: java.net.ConnectException: Connection refused",
            "leader_unreachable",
        ),
        ("IO Error trying to forward REST request: java.net.UnknownHostException: w9", "leader_unreachable"),
        (
            "IO Error trying to forward REST request: Unexpected character ('<' (code 60)): expected …\n at [Source: …",
            "response_unreadable",
        ),
    ],
)
def test_a_leader_that_does_not_answer_as_connect(text: str, reason: str) -> None:
    """Unreachable and unreadable are told apart; neither has a status."""
    assert from_cause(REST + text, "c", request_made=True) == Verdict(reason)


@pytest.mark.parametrize(("name", "reason"), [("back\\slash", "no_such_connector"), ("plain", "response_unreadable")])
def test_jettys_own_400_concerns_names_it_cannot_route(name: str, reason: str) -> None:
    r"""Jetty answers its own JSON: with a name like a\b it refused the URI, else something else is there."""
    text = REST + 'IO Error trying to forward REST request: Unrecognized field "url" (class …ErrorMessage)'
    assert from_cause(text, name, request_made=True).reason == reason


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("java.lang.NullPointerException", "connector_error"),
        (REST + "Internal request contained invalid signature.", "connector_error"),
        (
            "org.apache.kafka.connect.errors.ConnectException: Request to leader to reconfigure connector tasks failed "
            "because the URL of the leader's REST interface is empty!",
            "leader_unknown",
        ),
        (
            "org.apache.kafka.connect.runtime.distributed.NotLeaderException: This worker is not able to communicate with "
            "the leader of the cluster, which is required for dynamically-reconfiguring connectors.",
            "leader_unknown",
        ),
        ("", "connector_error"),
    ],
)
def test_without_a_request_the_connector_or_the_unknown_leader_failed(cause: str, reason: str) -> None:
    """Line c alone is never a refusal."""
    assert from_cause(cause, request_made=False).reason == reason


@pytest.mark.parametrize(
    ("code", "size", "reason"),
    [
        (400, 74, "missing_signature"),
        (403, 76, "invalid_signature"),
        (400, 321, "algorithm_not_permitted"),
        (400, 301, "algorithm_not_permitted"),
        (400, 300, None),
        (400, 0, None),
        (403, 321, None),
        (204, 0, None),
        (403, None, None),
    ],
)
def test_status_and_size_decide_in_the_access_log(code: int, size: int | None, reason: str | None) -> None:
    """Only the sizes that Kafka's texts have; a 400 without body is no signature fault."""
    assert from_access(code, size) == reason


def test_every_reason_has_a_row() -> None:
    """Whatever the table of texts answers can be explained and remedied."""
    told = {reason for _, reason, _ in reasons._TEXTS} | {"connector_error", "other"}  # noqa: SLF001
    assert told == set(REASONS)
    assert all(reason.remedies and reason.summary.endswith(".") for reason in REASONS.values())
