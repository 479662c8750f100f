"""Java's exceptions and what users are told."""

from __future__ import annotations

import pytest

from exporter.sources.jmx.failures import explain, timed_out
from exporter.sources.jmx.transport import Target

TARGET = Target("connect-0", 9999)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "java.rmi.ConnectException: Connection refused to host: x; nested exception is: \n\tConnection refused",
            "refused",
        ),
        ("java.lang.SecurityException: Authentication failed! Credentials required", "auth"),
        ("java.lang.SecurityException: Authentication failed! Invalid username or password", "auth"),
        ("java.lang.SecurityException: Access denied! Invalid access level", "auth"),
        ("java.rmi.UnknownHostException: Unknown host: x", "unresolved"),
        ("java.rmi.ConnectIOException: non-JRMP server at remote endpoint", "not_jmx"),
        ("java.rmi.NotBoundException: jmxrmi", "not_jmx"),
        (
            "java.rmi.ConnectIOException: Exception creating connection to: x\n"
            "java.net.NoRouteToHostException: No route to host",
            "timeout",
        ),
        (
            "java.rmi.UnmarshalException: Error unmarshaling return header\njava.io.EOFException: null",
            "transport",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", "transport"),
    ],
)
def test_reasons(text: str, reason: str) -> None:
    """Each kind of failure has its reason, the address, and something to do about it."""
    error = explain(TARGET, text)

    assert error.reason == reason
    assert "connect-0:9999" in error.message
    assert error.remedy.endswith(".")


def test_a_long_text_is_cut() -> None:
    """Whatever Java writes, the message stays one line of bounded length."""
    error = explain(TARGET, "x" * 100_000 + "\nsecond")

    assert len(error.message) < 500
    assert "second" not in error.message


def test_a_deadline() -> None:
    """A deadline that passed is `timeout` and tells how long was waited."""
    error = timed_out(TARGET, 2.5)

    assert (error.reason, error.message) == ("timeout", "connect-0:9999 did not answer in 2.5 s.")
