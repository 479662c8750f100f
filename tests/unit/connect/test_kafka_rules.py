"""Kafka Connect's own rules."""

from __future__ import annotations

import pytest

from exporter.connect.kafka_rules import normal_protocol, protocol_by_version, refuses, worker_id_of


@pytest.mark.parametrize(
    ("url", "worker_id"),
    [
        ("http://10.0.0.1:8083/", "10.0.0.1:8083"),
        ("https://w1/connect", "w1:443"),
        ("http://w1", "w1:80"),
        ("http://[fd00::1]:8083/", "[fd00::1]:8083"),
        ("10.0.0.1:8083", "10.0.0.1:8083"),
        ("NOTUSED/east", None),
        ("http://w1:port/", None),
        ("http://:8083/", None),
        ("", None),
        (None, None),
    ],
)
def test_a_workers_identity_is_host_and_port_of_its_url(url: str | None, worker_id: str | None) -> None:
    """MirrorMaker 2 up to 3.4 advertises none."""
    assert worker_id_of(url) == worker_id


def test_protocols_by_number_and_word() -> None:
    """Numbers and words of a later Kafka are unknown, not guessed; case does not matter."""
    assert [protocol_by_version(n) for n in (-1, 0, 1, 2, 3)] == [
        "unknown",
        "eager",
        "compatible",
        "sessioned",
        "unknown",
    ]
    assert [normal_protocol(t) for t in ("SESSIONED", " Eager ", "x", None)] == ["sessioned", "eager", "unknown", None]


def test_a_list_permits_what_is_in_it_to_the_letter() -> None:
    """Kafka compares algorithm names with their case."""
    assert not refuses("HmacSHA256", ("HmacSHA512", "HmacSHA256"))
    assert refuses("hmacsha256", ("HmacSHA256",))
    assert refuses("HmacSHA256", ())
