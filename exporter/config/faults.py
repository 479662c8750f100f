"""What is wrong in the configuration file: collected, each fault with its line, told all at once."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import TypeVar

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from exporter.config import values

T = TypeVar("T")

LATER = {
    "tls": "TLS to workers",
    "extra": "further MBeans",
    "pattern": "own log patterns",
    "stdin": "logs on standard input",
}
"""Keys of the design that a later version brings."""


class Faults:
    """Collects what is wrong.

    Attributes:
        environment: where `${env:NAME}` looks.
        defaults: the file's section of that name.
        found: (line from 1, message) of each fault.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.defaults = CommentedMap()
        self.found: list[tuple[int, str]] = []

    def add(self, node: object, key: object, message: str) -> None:
        """Remember a fault at a key (or entry, or at the node itself: None)."""
        fault = (line_of(node, key), message)
        if fault not in self.found:
            self.found.append(fault)

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
            if key in LATER:
                self.add(node, key, f"{path}{key}: not yet supported in this version ({LATER[key]}). Remove the key.")
                continue
            close = difflib.get_close_matches(str(key), keys, 1)
            hint = f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(keys)}."
            self.add(node, key, f"{path}{key}: unknown key. {hint}")

    def mapping(self, parent: CommentedMap | CommentedSeq, key: object, path: str) -> CommentedMap:
        """The value as a mapping; a fault, and an empty one, if it is something else."""
        node = parent[key]
        if isinstance(node, CommentedMap):
            return node
        self.add(parent, key, f"{path}: expected keys and values, found {what(node)}.")
        return CommentedMap()

    def sequence(self, parent: CommentedMap, key: str, path: str) -> CommentedSeq:
        """The value as a list; a fault, and an empty one, if it is something else."""
        node = parent.get(key)
        if isinstance(node, CommentedSeq) and node:
            return node
        found = "nothing" if not node else what(node)
        self.add(
            parent, key if key in parent else None, f"{path}: expected a list with at least one entry, found {found}."
        )
        return CommentedSeq()


def what(node: object) -> str:
    """What stands there, for a message."""
    if isinstance(node, CommentedMap):
        return "keys and values"
    if isinstance(node, CommentedSeq):
        return "a list" if node else "an empty list"
    return "nothing" if node is None else values.shown(node)


def line_of(node: object, key: object) -> int:
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


def place(made: CommentedMap, key: str, node: CommentedMap, origin: str) -> None:
    """Give `made[key]` the line of `node[origin]`, which it was made from."""
    line = line_of(node, origin) - 1
    if made.lc.line is None:
        made.lc.line, made.lc.col = line, 0
    made.lc.add_kv_line_col(key, [line, 0, line, 0])
