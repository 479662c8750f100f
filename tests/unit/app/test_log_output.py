"""The exporter's own log lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from exporter import log_output


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Other tests keep their handlers."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_logfmt_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A newline or quote in a message never makes two lines or a wrong field."""
    log_output.configure("info", "logfmt")
    logging.getLogger("a.b").warning('x="1"\ny %s', "z")
    logging.getLogger("a.b").debug("hidden")
    (line,) = capsys.readouterr().err.splitlines()
    assert " level=warn logger=a.b " in line
    assert line.endswith(r'msg="x=\"1\"\ny z"')


def test_json_is_one_object_a_line_with_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """For log collectors."""
    log_output.configure("debug", "json")
    try:
        int("a defect")
    except ValueError:
        logging.getLogger("a").exception("oh")
    (line,) = capsys.readouterr().err.splitlines()
    fields = json.loads(line)
    assert (fields["level"], fields["logger"], fields["msg"]) == ("error", "a", "oh")
    assert "ValueError: " in fields["trace"]
    assert fields["ts"].endswith("+00:00")
