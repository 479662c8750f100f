"""The YAML file to models. Every fault is told with file, line, key and what to do, all at once."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from exporter.config import values
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

T = TypeVar("T")

_LATER = {
    "tls": "TLS to workers",
    "extra": "further MBeans",
    "pattern": "own log patterns",
    "stdin": "logs on standard input",
}
_TRANSPORTS = ("bridge", "jmxquery")
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


class _Faults:
    """Collects what is wrong, each with its line."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.defaults = CommentedMap()
        self.found: list[tuple[int, str]] = []

    def add(self, node: object, key: object, message: str) -> None:
        self.found.append((_line(node, key), message))

    def value(self, node: CommentedMap, key: str, path: str, convert: Callable[[object], T], default: T) -> T:
        """`convert(node[key])`; a fault, and the default, if it is wrong; the default if it is absent."""
        if key not in node:
            return default
        try:
            return convert(node[key])
        except ValueError as error:
            self.add(node, key, f"{path}{key}: {error}")
            return default

    def known(self, node: CommentedMap, path: str, keys: tuple[str, ...]) -> None:
        """Every key is one of `keys`."""
        for key in node:
            if key in keys:
                continue
            if key in _LATER:
                self.add(node, key, f"{path}{key}: {_LATER[key]} is not supported in this version. Remove the key.")
                continue
            close = difflib.get_close_matches(str(key), keys, 1)
            hint = f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(keys)}."
            self.add(node, key, f"{path}{key}: unknown key. {hint}")

    def mapping(self, parent: CommentedMap | CommentedSeq, key: object, path: str) -> CommentedMap:
        """The value as a mapping; a fault, and an empty one, if it is something else."""
        node = parent[key]
        if isinstance(node, CommentedMap):
            return node
        self.add(parent, key, f"{path}: expected keys and values, found {_what(node)}.")
        return CommentedMap()

    def sequence(self, parent: CommentedMap, key: str, path: str) -> CommentedSeq:
        """The value as a list; a fault, and an empty one, if it is something else."""
        node = parent.get(key)
        if isinstance(node, CommentedSeq) and node:
            return node
        found = "nothing" if not node else _what(node)
        self.add(
            parent, key if key in parent else None, f"{path}: expected a list with at least one entry, found {found}."
        )
        return CommentedSeq()


def _what(node: object) -> str:
    if isinstance(node, CommentedMap):
        return "keys and values"
    if isinstance(node, CommentedSeq):
        return "a list"
    return "nothing" if node is None else repr(node)


def _line(node: object, key: object) -> int:
    """Line of a key (or entry, or the node itself), from 1."""
    if not isinstance(node, (CommentedMap, CommentedSeq)):
        return 1
    try:
        if key is None:
            return int(node.lc.line) + 1
        position = node.lc.key(key) if isinstance(node, CommentedMap) else node.lc.item(key)
        return int(position[0]) + 1
    except (AttributeError, KeyError, TypeError):
        return 1  # a node that the program made from a short form


def load(file: Path, environment: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration.

    Raises:
        ConfigError: the file cannot be read or is wrong; one line per fault.
    """
    root = _parse(file)
    faults = _Faults(environment)
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
    except YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {error}.") from error
    if not isinstance(root, CommentedMap):
        raise ConfigError(f"{file}:1: expected keys and values, found {_what(root)}.", "Begin with `clusters:`.")
    return root


def _config(root: CommentedMap, faults: _Faults) -> Config:
    faults.known(root, "", ("clusters", "defaults", "listen", "state", "limits"))
    defaults = faults.mapping(root, "defaults", "defaults") if "defaults" in root else CommentedMap()
    faults.defaults = defaults
    faults.known(defaults, "defaults.", ("poll_interval", "rest_interval", "timeout", "jmx", "logs"))
    for kind in ("jmx", "logs"):
        if kind in defaults:
            faults.mapping(defaults, kind, f"defaults.{kind}")
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


def _distinct(names: list[str], node: object, path: str, faults: _Faults) -> None:
    for index, name in enumerate(names):
        if name and name in names[:index]:
            faults.add(node, index, f"{path}[{index}].name: {name!r} is used twice. Give each its own name.")


def _limits(root: CommentedMap, faults: _Faults) -> Limits:
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


def _cluster(entries: CommentedSeq, index: int, path: str, faults: _Faults) -> Cluster:
    node = faults.mapping(entries, index, path.removesuffix("."))
    faults.known(node, path, ("name", "scope", "workers"))
    name = _name(node, path, faults)
    scope = faults.value(node, "scope", path, _one_of("cluster", "worker"), "cluster")
    workers: list[Worker] = []
    if node:
        listed = faults.sequence(node, "workers", f"{path}workers")
        workers = [_worker(listed, i, f"{path}workers[{i}].", faults) for i in range(len(listed))]
        _distinct([w.name for w in workers], node.get("workers"), f"{path}workers", faults)
    return Cluster(name, tuple(workers), "worker" if scope == "worker" else "cluster")


def _worker(listed: CommentedSeq, index: int, path: str, faults: _Faults) -> Worker:
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


def _jmx(node: CommentedMap, path: str, faults: _Faults) -> JmxEndpoint | None:
    if "jmx" not in node:
        return None
    keys = ("address", "username", "password_file", "password", "transport")
    entry = _short(node, "jmx", "address", path, faults, keys)
    if entry is None:
        return None
    where = f"{path}jmx."
    address = faults.value(entry, "address", where, _text, "")
    if "address" not in entry:
        faults.add(node, "jmx", f"{where}address: missing. Write it like connect-0:9999.")
    transport = faults.value(entry, "transport", where, _one_of(*_TRANSPORTS), "bridge")
    username, password = _credentials(entry, where, faults)
    return JmxEndpoint(address, username, password, "jmxquery" if transport == "jmxquery" else "bridge")


def _rest(node: CommentedMap, path: str, faults: _Faults) -> RestEndpoint | None:
    if "rest" not in node:
        return None
    entry = _short(node, "rest", "url", path, faults, ("url", "username", "password_file", "password"))
    if entry is None:
        return None
    where = f"{path}rest."
    if "url" not in entry:
        faults.add(node, "rest", f"{where}url: missing. Write it like http://connect-0:8083.")
    url = faults.value(entry, "url", where, values.rest_url, "")
    username, password = _credentials(entry, where, faults)
    return RestEndpoint(url, username, password)


def _logs(node: CommentedMap, path: str, faults: _Faults) -> LogInputs | None:
    if "logs" not in node:
        return None
    value = node["logs"]
    if isinstance(value, (str, CommentedSeq)):
        paths = CommentedMap(paths=value)
        paths.lc.line = node.lc.key("logs")[0]
        node = CommentedMap(logs=paths)
    keys = ("paths", "timezone", "first_read_limit")
    entry = _short(node, "logs", "paths", path, faults, keys)
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


def _short(  # noqa: PLR0917 - one key of one worker, wholly described
    node: CommentedMap, key: str, main: str, path: str, faults: _Faults, keys: tuple[str, ...]
) -> CommentedMap | None:
    """A value or its long form as the long form, with the file's defaults under it; None after a fault."""
    value = node[key]
    if isinstance(value, str):
        entry = CommentedMap({main: value})
        entry.lc.line, entry.lc.col = node.lc.key(key)
        entry.lc.add_kv_line_col(main, [*node.lc.key(key), *node.lc.key(key)])
    elif isinstance(value, CommentedMap):
        entry = value
    else:
        faults.add(node, key, f"{path}{key}: expected a text or keys and values, found {_what(value)}.")
        return None
    faults.known(entry, f"{path}{key}.", keys)
    defaults = faults.defaults.get(key)
    if isinstance(defaults, CommentedMap):
        faults.known(defaults, f"defaults.{key}.", tuple(k for k in keys if k != main))
        for name in defaults:
            if name not in entry:
                entry[name] = defaults[name]
    return entry


def _credentials(entry: CommentedMap, where: str, faults: _Faults) -> tuple[str | None, Secret | None]:
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
            faults.add(entry, "password", f"{where}password: the environment variable {match[1]} is not set.")
        else:
            password = Secret(faults.environment[match[1]])
    if "password_file" in entry:
        secret_file = Path(str(entry["password_file"]))
        try:
            password = Secret(secret_file.read_text(encoding="utf-8").rstrip("\r\n"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            faults.add(entry, "password_file", f"{where}password_file: {secret_file} cannot be read: {reason}.")
    return username, password


def _name(node: CommentedMap, path: str, faults: _Faults) -> str:
    if node and "name" not in node:
        faults.add(node, None, f"{path}name: missing. Give it a name; it becomes a label.")
    return faults.value(node, "name", path, _text, "")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected a text, found {_what(value)}.")
    return value


def _path(value: object) -> Path:
    return Path(_text(value))


def _paths(value: object) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else list(value) if isinstance(value, CommentedSeq) else []
    if not entries or not all(isinstance(entry, str) and entry for entry in entries):
        raise ValueError(f"expected a file name or a list of them, found {_what(value)}.")
    return tuple(str(entry) for entry in entries)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"expected a whole number above 0, found {_what(value)}.")
    return value


def _one_of(*words: str) -> Callable[[object], str]:
    def convert(value: object) -> str:
        if value not in words:
            raise ValueError(f"expected {' or '.join(words)}, found {_what(value)}.")
        return str(value)

    return convert
