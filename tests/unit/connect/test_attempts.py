"""Lines a, b and c of one failed attempt are one attempt."""

from __future__ import annotations

from datetime import datetime

from exporter.connect.attempts import Pairing
from exporter.connect.events import ForwardFailed, HandOverFailed, ReconfigureFailed

AT = datetime(2026, 11, 30, 21, 0, 0)  # noqa: DTZ001 - logs have no zone
INVALID = "org…ConnectRestException: Internal request contained invalid signature."
OTHER = "org…ConnectRestException: Internal request missing required signature"


def _url(connector: str) -> str:
    return f"http://w1:8083/connectors/{connector}/tasks"


def test_a_b_c_are_one_attempt_of_the_named_connector() -> None:
    """The attempt carries c's name, b's reason and a's leader."""
    pairing = Pairing()
    pairing.forward_failed(ForwardFailed(_url("src"), INVALID))
    assert pairing.hand_over_failed(HandOverFailed(INVALID, ""), AT, None) is None
    (attempt,) = pairing.reconfigure_failed(ReconfigureFailed("src", INVALID, ""), AT, None)
    assert (attempt.connector, attempt.reason, attempt.leader_url) == ("src", "invalid_signature", "http://w1:8083/")
    assert pairing.flush() is None


def test_b_without_c_counts_when_the_next_b_comes_and_the_url_names_it() -> None:
    """In the first minute of 403s line c hides at DEBUG."""
    pairing = Pairing()
    pairing.forward_failed(ForwardFailed(_url("with%20space"), INVALID))
    assert pairing.hand_over_failed(HandOverFailed(INVALID, ""), AT, None) is None
    attempt = pairing.hand_over_failed(HandOverFailed(INVALID, ""), AT, None)
    assert attempt is not None
    assert attempt.connector == "with space"
    last = pairing.flush()
    assert last is not None
    assert last.connector == ""  # no line a before the second b: nothing names it


def test_the_debug_form_of_c_completes_b() -> None:
    """At DEBUG line c has a name and no trace."""
    pairing = Pairing()
    pairing.hand_over_failed(HandOverFailed(INVALID, ""), AT, None)
    (attempt,) = pairing.reconfigure_failed(ReconfigureFailed("src", "", ""), AT, None)
    assert (attempt.connector, attempt.reason) == ("src", "invalid_signature")


def test_c_of_another_connector_does_not_swallow_b() -> None:
    """A pending 403 of one connector and the own fault of another are two attempts."""
    pairing = Pairing()
    pairing.forward_failed(ForwardFailed(_url("src"), INVALID))
    pairing.hand_over_failed(HandOverFailed(INVALID, ""), AT, None)
    first, second = pairing.reconfigure_failed(
        ReconfigureFailed("own-fault", "java.lang.NullPointerException", ""), AT, None
    )
    assert (first.connector, first.reason) == ("src", "invalid_signature")
    assert (second.connector, second.reason, second.request_made) == ("own-fault", "connector_error", False)


def test_c_with_another_cause_does_not_complete_b() -> None:
    """Without a name in the URL the cause tells that c is of another attempt."""
    pairing = Pairing()
    pairing.hand_over_failed(HandOverFailed(INVALID, ""), AT, None)
    assert len(pairing.reconfigure_failed(ReconfigureFailed("x", OTHER, ""), AT, None)) == 2


def test_a_forwarded_user_request_names_nothing() -> None:
    """RestClient prints line a for user requests too; their path is not …/tasks."""
    pairing = Pairing()
    pairing.forward_failed(ForwardFailed("http://w1:8083/connectors/src/config?forward=true", "x"))
    pairing.hand_over_failed(HandOverFailed(INVALID, ""), AT, None)
    attempt = pairing.flush()
    assert attempt is not None
    assert (attempt.connector, attempt.leader_url) == ("", None)


def test_a_flow_of_mirrormaker_2_is_part_of_the_name() -> None:
    """Two flows have connectors of one name."""
    pairing = Pairing()
    pairing.forward_failed(ForwardFailed("http://w1:8083/A/B/connectors/MirrorSourceConnector/tasks", INVALID))
    pairing.hand_over_failed(HandOverFailed(INVALID, "A->B/"), AT, None)
    (attempt,) = pairing.reconfigure_failed(ReconfigureFailed("A->B/MirrorSourceConnector", INVALID, "A->B/"), AT, None)
    assert attempt.connector == "A->B/MirrorSourceConnector"
    assert attempt.leader_url == "http://w1:8083/"
