"""JMX addresses as users write them."""

from __future__ import annotations

import pytest

from exporter.errors import ConfigError
from exporter.sources.jmx.address import parse_address
from exporter.sources.jmx.transport import Target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("connect-0:9999", Target("connect-0", 9999)),
        (" connect-0.connect.kafka.svc:9999 ", Target("connect-0.connect.kafka.svc", 9999)),
        ("10.0.0.1:1", Target("10.0.0.1", 1)),
        ("[::1]:65535", Target("::1", 65535)),
        ("[fe80::1%eth0]:9999", Target("fe80::1%eth0", 9999)),
        ("service:jmx:rmi:///jndi/rmi://connect-0:9999/jmxrmi", Target("connect-0", 9999)),
        ("service:jmx:rmi://x:1/jndi/rmi://[::1]:9999/jmxrmi", Target("::1", 9999)),
    ],
)
def test_forms_that_are_read(text: str, target: Target) -> None:
    """Host and port, also of an IPv6 address and of a service URL."""
    assert parse_address(text) == target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "connect-0",
        "connect-0:",
        ":9999",
        "connect-0:0",
        "connect-0:65536",
        "connect-0:99999999",
        "::1:9999",
        "http://connect-0:9999",
        "connect-0:9999/jmxrmi",
        "connect 0:9999",
        "service:jmx:jmxmp://connect-0:9999",
        "connect-0:٩٩٩٩",
    ],
)
def test_forms_that_are_refused(text: str) -> None:
    """The error repeats what was written and shows how to write it."""
    with pytest.raises(ConfigError) as caught:
        parse_address(text)

    assert repr(text) in caught.value.message
    assert "connect-0:9999" in caught.value.remedy


def test_credentials_in_an_address_are_not_repeated() -> None:
    """A password put into the address is refused without being told."""
    with pytest.raises(ConfigError) as caught:
        parse_address("me:s3cret@connect-0:9999")

    assert "s3cret" not in f"{caught.value} {caught.value!r}"
    assert "password_file" in caught.value.remedy
