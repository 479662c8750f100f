"""The demo's story: two workers with a history, a connector whose tasks never start, and the repair."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from exporter.demo import rest_answers
from exporter.demo.access_line import AccessLine, access_record
from exporter.demo.group import Group
from exporter.demo.mbeans import Beans, beans_of
from exporter.demo.simulated_log import SimulatedLog
from exporter.demo.simulated_rest import AnswerTo, OnAccess
from exporter.demo.state import DEFAULT_SIGNING, ConnectorState, GroupState, Phase, Signing, WorkerState
from exporter.demo.timeline import Timeline

LEADER, FOLLOWER = "w1", "w2"
MISCONFIGURED = Signing("HmacSHA512", ("HmacSHA512", "HmacSHA256"))
"""What a roll-out gave w2 before w1 permits it."""
FAULTY_CONNECTOR = "billing.events"

HISTORY_S = 90.0
"""The cluster's age when the demo begins; its logs and counters begin then."""
_RESTART_AFTER_STOP_S = 2.6
"""From the signal to the next start, as recorded."""
_SETTLED_AFTER_RESTART_S = 18.0
"""Until the rebalance delay is over and connectors run again."""
_WAIT_MAX_S = 1.0


class Jvm(Protocol):
    """A worker's JVM."""

    def show(self, beans: Beans) -> None:
        """Show these MBeans from now on."""

    def wait_ready(self) -> None:
        """Wait until they can be read.

        Raises:
            ExporterError: it did not come up.
        """

    def stop(self) -> None:
        """End it."""


class Rest(Protocol):
    """A worker's REST server."""

    def stop(self) -> None:
        """Close it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ports:
    """Where one worker listens, on loopback."""

    rest: int
    jmx: int


@dataclasses.dataclass(slots=True)
class _Running:
    """What of a worker is up."""

    incarnation: int
    jvm: Jvm
    rest: Rest | None = None


class Cluster:
    """The simulated cluster. `mend`, `break_again` and `status` may be called from any thread.

    Args:
        ports: of w1 and w2.
        directory: for the logs; exists.
        start_jvm: starts a JVM with this JMX port.
        start_rest: starts a REST server on this port.
        clock: seconds since the epoch.
        fault_after_s: when the connector without tasks is created, counted from `start`.
    """

    def __init__(
        self,
        ports: Mapping[str, Ports],
        directory: Path,
        *,
        start_jvm: Callable[[int], Jvm],
        start_rest: Callable[[int, AnswerTo, OnAccess], Rest],
        clock: Callable[[], float],
        fault_after_s: float,
    ) -> None:
        self._start_jvm = start_jvm
        self._start_rest = start_rest
        self._clock = clock
        self._fault_after_s = fault_after_s
        self._mutex = threading.RLock()
        self._wake = threading.Event()
        self._busy_until_s = 0.0
        self._topics = 0
        self._timeline = Timeline()
        self.state = GroupState({name: WorkerState(name, p.rest, p.jmx) for name, p in ports.items()})
        self.logs = {name: SimulatedLog(directory / name / "connect.log") for name in _made(ports, directory)}
        self._group = Group(self.state, self._timeline, lambda name, at_s, text: self.logs[name].append(at_s, text))
        self._running: dict[str, _Running] = {}

    def start(self) -> None:
        """Write the history and bring the workers up.

        Raises:
            ExporterError: a worker did not come up.
            OSError: a REST port cannot be listened on.
        """
        now_s = self._clock()
        began_s = now_s - HISTORY_S
        group, add = self._group, self._timeline.add
        add(began_s, lambda at_s: group.start_worker(at_s, LEADER, DEFAULT_SIGNING))
        add(began_s + 4, lambda at_s: group.start_worker(at_s, FOLLOWER, DEFAULT_SIGNING))
        orders = ConnectorState("orders-source", "orders", LEADER, records_per_s=42.0)
        add(began_s + 12, lambda at_s: group.put_connector(at_s, orders))
        audit = ConnectorState("audit_log", "audit", FOLLOWER, records_per_s=7.0)
        add(began_s + 14, lambda at_s: group.put_connector(at_s, audit))
        add(began_s + 50, lambda at_s: self._restart_follower(at_s, MISCONFIGURED))
        add(now_s + self._fault_after_s, self._create_faulty_connector)
        self.step()
        for running in list(self._running.values()):
            running.jvm.wait_ready()

    def step(self) -> float:
        """Do what is due; seconds until there is more to do."""
        with self._mutex:
            now_s = self._clock()
            if self._timeline.run_until(now_s):
                self._follow(now_s)
            next_s = self._timeline.next_s
            return _WAIT_MAX_S if next_s is None else min(max(next_s - now_s, 0.0), _WAIT_MAX_S)

    def run(self, stop: threading.Event) -> None:
        """Go on until `stop` is set."""
        while not stop.is_set():
            wait_s = self.step()
            self._wake.wait(wait_s)
            self._wake.clear()

    def wake(self) -> None:
        """Make `run` look at its plan, and at `stop`, now."""
        self._wake.set()

    def stop(self) -> None:
        """End everything."""
        with self._mutex:
            names = list(self._running)
        for name in names:
            self._take_down(name)
        for log in self.logs.values():
            log.close()

    def status(self) -> str:
        """What is going on, as a sentence."""
        with self._mutex:
            if self._clock() < self._busy_until_s:
                algorithm = self.state.workers[FOLLOWER].signing.signature_algorithm
                return f"{FOLLOWER} is being restarted, to sign with {algorithm}."
            looping = [c for c in self.state.connectors.values() if c.failures]
            if looping:
                names = ", ".join(f"{c.name} ({c.failures} refusals)" for c in looping)
                return f"{FOLLOWER} signs with HmacSHA512, which {LEADER} does not permit: {names} waits for its tasks."
            if self._misconfigured:
                return f"All tasks run, but {FOLLOWER} signs with HmacSHA512, which {LEADER} does not permit."
            return "All is well: both workers sign with HmacSHA256, and every connector has its tasks."

    def mend(self) -> str:
        """Restart w2 with the algorithm that w1 permits; what will happen, as a sentence."""
        with self._mutex:
            if self._clock() < self._busy_until_s or not self._misconfigured:
                return self.status()
            self._plan(partial(self._restart_follower, signing=DEFAULT_SIGNING))
            return (
                f"{FOLLOWER} is restarted with inter.worker.signature.algorithm=HmacSHA256; "
                f"in about {_SETTLED_AFTER_RESTART_S:.0f} seconds every connector has its tasks."
            )

    def break_again(self) -> str:
        """Restart w2 with the refused algorithm and change a connector; what will happen, as a sentence."""
        with self._mutex:
            if self._clock() < self._busy_until_s or self._misconfigured:
                return self.status()
            self._plan(partial(self._restart_follower, signing=MISCONFIGURED))
            self._timeline.add(self._busy_until_s, self._create_faulty_connector)
            return (
                f"{FOLLOWER} is restarted with inter.worker.signature.algorithm=HmacSHA512, then {FAULTY_CONNECTOR} "
                "is given another topic: its old task goes on with the old one."
            )

    @property
    def _misconfigured(self) -> bool:
        signing = self.state.workers[FOLLOWER].signing
        return signing.signature_algorithm not in self.state.leader.signing.verification_algorithms

    def _plan(self, action: Callable[[float], None]) -> None:
        now_s = self._clock()
        self._busy_until_s = now_s + _SETTLED_AFTER_RESTART_S
        self._timeline.add(now_s, action)
        self.wake()

    def _restart_follower(self, at_s: float, signing: Signing) -> None:
        self._group.stop_worker(at_s, FOLLOWER)
        self._timeline.add(
            at_s + _RESTART_AFTER_STOP_S, lambda due_s: self._group.start_worker(due_s, FOLLOWER, signing)
        )

    def _create_faulty_connector(self, at_s: float) -> None:
        if at_s < self._busy_until_s:  # a user would wait for the restart, too
            self._timeline.add(self._busy_until_s, self._create_faulty_connector)
            return
        self._topics += 1
        topic = f"billing-{self._topics}"
        self._group.put_connector(at_s, ConnectorState(FAULTY_CONNECTOR, topic, FOLLOWER, records_per_s=19.0))

    def _follow(self, now_s: float) -> None:
        """Bring processes and servers to the state."""
        for worker in self.state.workers.values():
            running = self._running.get(worker.name)
            if running is not None and (worker.phase is Phase.STOPPED or running.incarnation != worker.incarnation):
                self._take_down(worker.name)
                running = None
            if worker.phase is Phase.STOPPED:
                continue
            if running is None:
                running = self._running[worker.name] = _Running(worker.incarnation, self._start_jvm(worker.jmx_port))
            running.jvm.show(beans_of(self.state, worker, now_s))
            if worker.rest_up and running.rest is None:
                running.rest = self._start_rest(worker.rest_port, self._answer, partial(self._accessed, worker.name))
            elif not worker.rest_up and running.rest is not None:
                running.rest.stop()
                running.rest = None

    def _take_down(self, name: str) -> None:
        running = self._running.pop(name)
        if running.rest is not None:
            running.rest.stop()
        running.jvm.stop()

    def _answer(self, method: str, target: str) -> rest_answers.Answer:
        with self._mutex:
            return rest_answers.answer(self.state, method, target)

    def _accessed(self, name: str, line: AccessLine) -> None:
        at_s = self._clock()
        self.logs[name].append(at_s, access_record(at_s, line))


def _made(names: Mapping[str, Ports], directory: Path) -> Mapping[str, Ports]:
    for name in names:
        (directory / name).mkdir()
    return names
