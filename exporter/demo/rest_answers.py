"""What a worker answers over REST, in the shape recorded from Kafka 4.4.0."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from exporter.demo.state import PLUGIN_VERSION, ConnectorState, GroupState

VERSION = "4.4.0"
ROOT = {"version": VERSION, "commit": "1156b2752aaa28ea", "kafka_cluster_id": "KIkO9c40Q_GguH3v1UBFJQ"}
SIGNATURE_MISSING = "Internal request missing required signature"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status code and body."""

    status: int
    body: bytes


def json_text(document: Any) -> bytes:  # noqa: ANN401 - any JSON document
    """A document as Jackson writes it: without spaces."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def refusal(algorithm: str, permitted: Sequence[str]) -> bytes:
    """The body of the leader's 400 to a request signed with an algorithm it does not permit."""
    return _error(
        400,
        f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. "
        f"This worker is currently configured to use: [{', '.join(permitted)}]. Check that all workers' "
        "configuration files permit the same set of signature algorithms, and correct any misconfigured worker "
        "and restart it.",
    ).body


def info(connector: ConnectorState) -> dict[str, Any]:
    """A connector's configuration and its tasks."""
    tasks = [{"connector": connector.name, "task": 0}] if connector.task_placement else []
    return {"name": connector.name, "config": dict(connector.config), "tasks": tasks, "type": "source"}


def status(state: GroupState, connector: ConnectorState) -> dict[str, Any]:
    """A connector's state and its tasks'."""
    tasks = []
    if connector.task_placement:
        tasks = [{"id": 0, **_running(state, connector.task_host, connector.task_placement)}]
    return {
        "name": connector.name,
        "connector": _running(state, connector.host, connector.placement),
        "tasks": tasks,
        "type": "source",
    }


def answer(state: GroupState, method: str, target: str) -> Answer:
    """The answer to a request.

    Args:
        state: the cluster now.
        method: GET, POST, ...
        target: path and query as they came.
    """
    parts = urlsplit(target)
    match [unquote(part) for part in parts.path.split("/")[1:]], method:
        case [""], "GET":
            return Answer(200, json_text(ROOT))
        case ["connectors"], "GET":
            return Answer(200, json_text(_connectors(state, parts.query.split("&"))))
        case ["connectors", name], "GET" if name in state.connectors:
            return Answer(200, json_text(info(state.connectors[name])))
        case ["connectors", name, "status"], "GET" if name in state.connectors:
            return Answer(200, json_text(status(state, state.connectors[name])))
        case (["connectors", _, "tasks"], "POST") | (["connectors", _, "fence"], "PUT"):
            return _error(400, SIGNATURE_MISSING)
    return _error(404, "HTTP 404 Not Found")


def _connectors(state: GroupState, query: Sequence[str]) -> Any:  # noqa: ANN401 - a list or an object, as in Connect
    views = {
        "expand=status": lambda connector: status(state, connector),
        "expand=info": info,
    }
    wanted = {part: views[part] for part in query if part in views}
    if not wanted:
        return list(state.connectors)
    return {
        connector.name: {part.removeprefix("expand="): view(connector) for part, view in wanted.items()}
        for connector in state.connectors.values()
    }


def _running(state: GroupState, host: str | None, placement: str) -> dict[str, str]:
    worker = state.workers[host or placement]
    return {
        "state": "RUNNING" if host else "UNASSIGNED",
        "worker_id": worker.host_port,
        "version": PLUGIN_VERSION,
    }


def _error(code: int, message: str) -> Answer:
    return Answer(code, json_text({"error_code": code, "message": message}))
