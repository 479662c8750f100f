"""The YAML file to models. Every fault is told with file, line, key and what to do, all at once."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from exporter.config import values
from exporter.config.faults import Faults, place, what
from exporter.config.models import (
    Cluster,
    Config,
    JmxEndpoint,
    Limits,
    LogInputs,
    RestEndpoint,
    Secret,
    Worker,
)
from exporter.errors import ConfigError

# The keys of a worker's inputs; a short form stands for the first.
_JMX_KEYS = ("address", "username", "password_file", "password", "transport")
_REST_KEYS = ("url", "username", "password_file", "password")
_LOGS_KEYS = ("paths", "timezone", "first_read_limit")
_TRANSPORTS = ("bridge", "jmxquery")
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def load(file: Path, environment: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration.

    Raises:
        ConfigError: the file cannot be read or is wrong; one line per fault.
    """
    root = _parse(file)
    faults = Faults(environment)
    config = _config(root, faults)
    if faults.found:
        raise ConfigError("\n".join(f"{file}:{line}: {message}" for line, message in sorted(faults.found)))
    return config


def _parse(file: Path) -> CommentedMap:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror}.", "Correct the path or its permissions."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text ({error.reason}).", "Save it as UTF-8.") from error
    try:
        root = YAML(typ="rt").load(text)
    except DuplicateKeyError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        key = re.search(r'duplicate key "?([^"\s]+)', str(error.problem))
        raise ConfigError(
            f"{file}:{line}: the key {key[1] if key else ''} stands here a second time.", "Remove one of the two."
        ) from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise ConfigError(
            f"{file}:{line}: not YAML: {error.problem}.", "Check indentation and quotes there."
        ) from error
    except (YAMLError, ValueError, RecursionError) as error:  # ruamel lets those of a date such as 2026-13-45 through
        raise ConfigError(f"{file}: not YAML: {error}.", "Put odd values in quotes.") from error
    if not isinstance(root, CommentedMap):
        raise ConfigError(f"{file}:1: expected keys and values, found {what(root)}.", "Begin with `clusters:`.")
    return root


def _config(root: CommentedMap, faults: Faults) -> Config:
    faults.known(root, "", ("clusters", "defaults", "listen", "state", "limits"))
    defaults = faults.mapping(root, "defaults", "defaults") if "defaults" in root else CommentedMap()
    faults.defaults = defaults
    faults.known(defaults, "defaults.", ("poll_interval", "rest_interval", "timeout", "jmx", "logs"))
    for kind, keys in (("jmx", _JMX_KEYS), ("logs", _LOGS_KEYS)):
        if kind in defaults:
            faults.known(faults.mapping(defaults, kind, f"defaults.{kind}"), f"defaults.{kind}.", keys[1:])
    clusters = tuple(
        _cluster(entries, index, f"clusters[{index}].", faults)
        for entries in [faults.sequence(root, "clusters", "clusters")]
        for index in range(len(entries))
    )
    _distinct([c.name for c in clusters], root.get("clusters"), "clusters", faults)
    base = Config(clusters)
    return Config(
        clusters,
        listen=faults.value(root, "listen", "", values.listen, base.listen),
        state=faults.value(root, "state", "", _path, None),
        limits=_limits(root, faults),
        poll_interval_s=faults.value(defaults, "poll_interval", "defaults.", values.duration_s, base.poll_interval_s),
        rest_interval_s=faults.value(defaults, "rest_interval", "defaults.", values.duration_s, base.rest_interval_s),
        timeout_s=faults.value(defaults, "timeout", "defaults.", values.duration_s, base.timeout_s),
    )


def _distinct(names: list[str], node: object, path: str, faults: Faults) -> None:
    for index, name in enumerate(names):
        if name and name in names[:index]:
            faults.add(node, index, f"{path}[{index}].name: {name!r} is used twice. Give each its own name.")


def _limits(root: CommentedMap, faults: Faults) -> Limits:
    if "limits" not in root:
        return Limits()
    node = faults.mapping(root, "limits", "limits")
    faults.known(node, "limits.", ("connectors", "tasks", "client_series"))
    base = Limits()
    return Limits(
        connectors=faults.value(node, "connectors", "limits.", _count, base.connectors),
        tasks=faults.value(node, "tasks", "limits.", _count, base.tasks),
        client_series=faults.value(node, "client_series", "limits.", _count, base.client_series),
    )


def _cluster(entries: CommentedSeq, index: int, path: str, faults: Faults) -> Cluster:
    node = faults.mapping(entries, index, path.removesuffix("."))
    if not node and isinstance(entries[index], CommentedMap):
        faults.add(entries, index, f"{path.removesuffix('.')}: empty. Give name and workers.")
    faults.known(node, path, ("name", "scope", "workers"))
    name = _name(node, path, faults)
    scope = faults.value(node, "scope", path, _one_of("cluster", "worker"), "cluster")
    workers: list[Worker] = []
    if node:
        listed = faults.sequence(node, "workers", f"{path}workers")
        workers = [_worker(listed, i, f"{path}workers[{i}].", faults) for i in range(len(listed))]
        _distinct([w.name for w in workers], node.get("workers"), f"{path}workers", faults)
    return Cluster(name, tuple(workers), "worker" if scope == "worker" else "cluster")


def _worker(listed: CommentedSeq, index: int, path: str, faults: Faults) -> Worker:
    node = faults.mapping(listed, index, path.removesuffix("."))
    if not node:
        if isinstance(listed[index], CommentedMap):
            faults.add(
                listed, index, f"{path.removesuffix('.')}: empty. Give name and at least one of jmx, rest, logs."
            )
        return Worker("")
    faults.known(node, path, ("name", "jmx", "rest", "logs", "properties"))
    if not any(key in node for key in ("jmx", "rest", "logs")):
        faults.add(listed, index, f"{path.removesuffix('.')}: nothing to read. Give at least one of jmx, rest, logs.")
    return Worker(
        _name(node, path, faults),
        jmx=_jmx(node, path, faults),
        rest=_rest(node, path, faults),
        logs=_logs(node, path, faults),
        properties=faults.value(node, "properties", path, _path, None),
    )


def _jmx(node: CommentedMap, path: str, faults: Faults) -> JmxEndpoint | None:
    if "jmx" not in node:
        return None
    entry = _short(node, "jmx", path, faults, _JMX_KEYS)
    if entry is None:
        return None
    where = f"{path}jmx."
    address = faults.value(entry, "address", where, values.jmx_address, "")
    if "address" not in entry:
        faults.add(node, "jmx", f"{where}address: missing. Write it like connect-0:9999.")
    transport = faults.value(entry, "transport", where, _transport, "bridge")
    username, password = _credentials(entry, where, faults)
    return JmxEndpoint(address, username, password, "jmxquery" if transport == "jmxquery" else "bridge")


def _rest(node: CommentedMap, path: str, faults: Faults) -> RestEndpoint | None:
    if "rest" not in node:
        return None
    entry = _short(node, "rest", path, faults, _REST_KEYS)
    if entry is None:
        return None
    where = f"{path}rest."
    if "url" not in entry:
        faults.add(node, "rest", f"{where}url: missing. Write it like http://connect-0:8083.")
    url = faults.value(entry, "url", where, values.rest_url, "")
    username, password = _credentials(entry, where, faults)
    return RestEndpoint(url, username, password)


def _logs(node: CommentedMap, path: str, faults: Faults) -> LogInputs | None:
    if "logs" not in node:
        return None
    value = node["logs"]
    if isinstance(value, (str, CommentedSeq)):
        paths = CommentedMap(paths=value)
        place(paths, "paths", node, "logs")
        short = CommentedMap(logs=paths)
        place(short, "logs", node, "logs")
        node = short
    entry = _short(node, "logs", path, faults, _LOGS_KEYS)
    if entry is None:
        return None
    where = f"{path}logs."
    base = LogInputs(())
    listed = faults.value(entry, "paths", where, _paths, base.paths)
    if "paths" not in entry:
        faults.add(node, "logs", f"{where}paths: missing. Give the worker's log file.")
    return LogInputs(
        listed,
        timezone=faults.value(entry, "timezone", where, values.zone, None),
        first_read_limit_bytes=faults.value(
            entry, "first_read_limit", where, values.size_bytes, base.first_read_limit_bytes
        ),
    )


def _short(node: CommentedMap, key: str, path: str, faults: Faults, keys: tuple[str, ...]) -> CommentedMap | None:
    """A value or its long form as the long form, with the file's defaults under it; None after a fault."""
    value = node[key]
    if isinstance(value, str):
        entry = CommentedMap({keys[0]: value})
        place(entry, keys[0], node, key)
    elif isinstance(value, CommentedMap):
        faults.known(value, f"{path}{key}.", keys)
        entry = copy.copy(value)  # an anchor may give one mapping to several workers
    else:
        faults.add(node, key, f"{path}{key}: expected a text or keys and values, found {what(value)}.")
        return None
    defaults = faults.defaults.get(key)
    if isinstance(defaults, CommentedMap):
        own_password = "password" in entry or "password_file" in entry
        for name in defaults:
            if name in keys[1:] and name not in entry and not (own_password and name.startswith("password")):
                entry[name] = defaults[name]
                place(entry, name, defaults, name)
    return entry


def _credentials(entry: CommentedMap, where: str, faults: Faults) -> tuple[str | None, Secret | None]:
    username = faults.value(entry, "username", where, _text, "") or None
    password: Secret | None = None
    if "password" in entry:
        match = _ENV.fullmatch(str(entry["password"]))
        if match is None:
            faults.add(
                entry,
                "password",
                f"{where}password: a password does not belong into this file. "
                "Use password_file, or password: ${env:NAME}.",
            )
        elif match[1] not in faults.environment:
            faults.add(
                entry,
                "password",
                f"{where}password: the environment variable {match[1]} is not set. Set it where the exporter starts.",
            )
        else:
            password = Secret(faults.environment[match[1]])
    if "password_file" in entry:
        secret_file = Path(str(entry["password_file"]))
        try:
            password = Secret(secret_file.read_text(encoding="utf-8").rstrip("\r\n"))
        except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the path
            reason = error.strerror if isinstance(error, OSError) else "not a path of a UTF-8 text"
            faults.add(
                entry,
                "password_file",
                f"{where}password_file: {secret_file} cannot be read: {reason}. Correct it or its permissions.",
            )
    if username is None and {"password", "password_file"} & set(entry):
        faults.add(entry, None, f"{where}username: missing. A password without a user name is never sent.")
    if username is not None and not {"password", "password_file"} & set(entry):
        faults.add(entry, "username", f"{where}password_file: missing. Name the file with the password.")
    return username, password


def _name(node: CommentedMap, path: str, faults: Faults) -> str:
    if node and "name" not in node:
        faults.add(node, None, f"{path}name: missing. Give it a name; it becomes a label.")
    return faults.value(node, "name", path, _text, "")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected a text, found {what(value)}.")
    return values.printable(value)


def _path(value: object) -> Path:
    return Path(_text(value))


def _paths(value: object) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else list(value) if isinstance(value, CommentedSeq) else []
    if not entries or not all(isinstance(entry, str) and entry for entry in entries):
        raise ValueError(f"expected a file name or a list of them, found {what(value)}.")
    return tuple(_text(str(entry)) for entry in entries)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= values.COUNT_MAX:
        raise ValueError(f"expected a whole number from 1 to {values.COUNT_MAX}, found {what(value)}.")
    return value


def _transport(value: object) -> str:
    if value == "jolokia":
        raise ValueError("jolokia is not yet supported in this version. Use bridge or jmxquery.")
    return _one_of(*_TRANSPORTS)(value)


def _one_of(*words: str) -> Callable[[object], str]:
    def convert(value: object) -> str:
        if value not in words:
            raise ValueError(f"expected {' or '.join(words)}, found {what(value)}.")
        return str(value)

    return convert
