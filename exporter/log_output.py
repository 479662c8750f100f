"""The exporter's own log on standard error: logfmt or JSON lines."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

LogFormat = Literal["logfmt", "json"]
LEVELS = ("debug", "info", "warn", "error")


class _Formatter(logging.Formatter):
    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": {"WARNING": "warn", "CRITICAL": "error"}.get(record.levelname, record.levelname.lower()),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        if self._form == "json":
            return json.dumps(fields, ensure_ascii=False)
        return " ".join(f"{key}={_quoted(text)}" for key, text in fields.items())


def _quoted(text: str) -> str:
    plain = text.isprintable() and not any(c in text for c in ' "=')
    return text if plain and text else json.dumps(text, ensure_ascii=False)


def configure(level: str, form: LogFormat) -> None:
    """Send all loggers to standard error.

    Args:
        level: one of `LEVELS`.
        form: logfmt or json.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(form))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in ("httpx2", "httpcore2", "httpx", "httpcore", "uvicorn.access", "uvicorn.error"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
