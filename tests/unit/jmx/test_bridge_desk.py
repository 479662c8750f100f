"""How the helper shares out its work, without a JVM: connections that cannot be opened answer with an error."""

from __future__ import annotations

import io
import itertools
import json
from typing import Any

from support.waiting import wait_for

from exporter.sources.jmx.bridge_helper import Answers, Desk

WITHIN_S = 10.0


def desk(**limits: Any) -> tuple[Desk, io.StringIO]:
    """A desk that has no JVM, and what it answers."""
    stream = io.StringIO()
    no_java: Any = None
    return Desk(no_java, Answers(stream), **limits), stream


def request(number: int, host: str = "a") -> dict[str, Any]:
    """One request."""
    return {"id": number, "target": {"host": host, "port": 1, "username": None, "password": None}, "queries": []}


def answers(stream: io.StringIO) -> dict[int, str]:
    """Errors so far by request."""
    return {answer["id"]: answer["error"] for answer in map(json.loads, stream.getvalue().splitlines())}


def test_a_fault_of_the_helper_s_own_is_told() -> None:
    """Whatever goes wrong in a target's thread becomes an answer, and the thread goes on."""
    table, stream = desk(idle_s=WITHIN_S)

    for number in range(3):
        table.take(request(number))

    wait_for("three answers", lambda: len(answers(stream)) == 3, WITHIN_S)
    assert all(error.startswith("AttributeError: ") for error in answers(stream).values())


def test_targets_are_bounded() -> None:
    """A target too many is refused with an answer; those that are there are still served."""
    table, stream = desk(targets_max=1, idle_s=WITHIN_S)

    table.take(request(0, "a"))
    table.take(request(1, "b"))
    table.take(request(2, "a"))

    wait_for("three answers", lambda: len(answers(stream)) == 3, WITHIN_S)
    assert answers(stream)[1] == "More than 1 JMX targets"
    assert answers(stream)[2].startswith("AttributeError: ")


def test_an_idle_target_gives_its_thread_back() -> None:
    """A target that nobody asks for any more, after a reload for one, makes room for another."""
    table, stream = desk(targets_max=1, idle_s=0.01)
    table.take(request(0, "a"))
    numbers = itertools.count(1)

    def other_is_served() -> bool:
        table.take(request(next(numbers), "b"))
        return any(error.startswith("AttributeError: ") for number, error in answers(stream).items() if number)

    wait_for("room for the other target", other_is_served, WITHIN_S)
