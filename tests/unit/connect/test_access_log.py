"""The access line of a worker's REST server."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.connect import access_log
from exporter.connect.events import InternalRequest

AT = datetime(2026, 11, 30, 21, 21, 2, tzinfo=UTC)
LINE = '127.0.0.1 - - [30/Nov/2026:21:21:02 +0000] "{request} HTTP/1.1" {code} {size} {tail}'


def _request(line: str) -> InternalRequest | None:
    parsed = access_log.parse(line)
    assert parsed is not None
    assert parsed[1] == AT
    return parsed[0]


@pytest.mark.parametrize(
    ("tail", "origin"),
    [
        ('"-" "kafka-connect" 16', "worker"),
        ('"" "kafka-connect" 6', "worker"),
        ('"-" "curl/8.0" 1', "other"),
        ('"http://a/"b" "kafka-connect" 3', "worker"),
        ('"kafka-connect" "curl" 3', "other"),
        ("", "other"),
    ],
)
def test_the_user_agent_alone_decides_the_origin(tail: str, origin: str) -> None:
    """The last quoted field is the user agent, in 3.x and 4.x, whatever the referer holds."""
    line = LINE.format(request="POST /connectors/billing.events/tasks", code=400, size=321, tail=tail)
    assert _request(line) == InternalRequest("tasks", "billing.events", 400, 321, origin, "127.0.0.1")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/connectors/with%20space/tasks", ("tasks", "with space")),
        ("/connectors/uni-%C3%A9%E6%97%A5/tasks", ("tasks", "uni-é日")),
        ("/connectors/tasks/tasks?forward=true", ("tasks", "tasks")),
        ("/connectors/slash/b/tasks", ("tasks", "slash/b")),
        ("/connectors/c/fence", ("fence", "c")),
        ("/A/B/connectors/MirrorSourceConnector/tasks", ("tasks", "A->B/MirrorSourceConnector")),
        ("/connectors/c/config", None),
        ("/connectors", None),
        ("/", None),
    ],
)
def test_the_path_names_request_and_connector(path: str, expected: tuple[str, str] | None) -> None:
    """Names are decoded as users know them; paths of public endpoints are none of ours."""
    assert access_log.connector_of_path(path) == expected


@pytest.mark.parametrize(
    "text", ["GET /connectors/c/tasks", "PUT /connectors/c/tasks", "POST /connectors/c/fence", "GET /"]
)
def test_other_methods_are_not_internal_requests(text: str) -> None:
    """GET …/tasks is public: only POST tasks and PUT fence are signed."""
    assert _request(LINE.format(request=text, code=200, size=2, tail='"-" "kafka-connect" 1')) is None


def test_a_size_that_is_not_logged_is_unknown() -> None:
    """Jetty prints - for no bytes."""
    parsed = _request(LINE.format(request="PUT /connectors/c/fence", code=403, size="-", tail='"-" "-" 1'))
    assert parsed == InternalRequest("fence", "c", 403, None, "other", "127.0.0.1")


def test_an_unreadable_time_leaves_the_request() -> None:
    """A vendor's time format costs the zone, not the count."""
    parsed = access_log.parse('::1 - - [yesterday] "POST /connectors/c/tasks HTTP/1.1" 204 0 "-" "kafka-connect" 1')
    assert parsed == (InternalRequest("tasks", "c", 204, 0, "worker", "::1"), None)
    wrong_day = '::1 - - [99/Nov/2026:21:21:02 +0000] "GET / HTTP/1.1" 204 0 "-" "x" 1'
    assert access_log.parse(wrong_day) == (None, None)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No message of RestServer can break the reader."""
    access_log.parse(text)
    access_log.connector_of_path(text)
