"""How workers of a group behave: they start, join, place connectors and hand task configurations to their leader.

Each step is what the recordings of Kafka 4.4.0 show; the refusal follows from the two workers' algorithms, as it
does in Kafka. A worker that left keeps its place for `scheduled.rebalance.max.delay.ms` (KIP-415).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from exporter.demo import rest_answers, templates
from exporter.demo.access_line import AccessLine, access_record
from exporter.demo.state import BROKER, GROUP, ConnectorState, GroupState, Phase, Signing, WorkerState
from exporter.demo.timeline import Timeline

WriteLog = Callable[[str, float, str], None]
"""Worker, time in seconds since the epoch, record from the level on."""

REBALANCE_DELAY_S = 10.0
"""`scheduled.rebalance.max.delay.ms`; Kafka's default is five minutes."""
SESSION_KEY_TTL_S = 3600.0
BACKOFF_FIRST_S = 0.25
BACKOFF_MAX_S = 60.0
"""KAFKA-14732: doubled after each failure."""

REST_READY_S = 2.88
JOIN_S = 3.0
STOP_S = 1.5
"""From the recording: after the start, and from the signal to the end of the process."""
LEAVE_NOTICED_S = 2.0
"""The leader's next heartbeat."""


class Group:
    """The simulated group. Everything happens on the timeline; nothing here reads a clock.

    Args:
        state: the workers, all stopped.
        timeline: where it plans what it does.
        write: prints a record into a worker's log.
    """

    def __init__(self, state: GroupState, timeline: Timeline, write: WriteLog) -> None:
        self.state = state
        self._timeline = timeline
        self._write = write
        self._delay_until_s = float("-inf")

    # Workers -----------------------------------------------------------------------------------------------------

    def start_worker(self, at_s: float, name: str, signing: Signing) -> None:
        """Start a stopped worker with these algorithms."""
        worker = self.state.workers[name]
        worker.signing = signing
        worker.phase = Phase.STARTING
        worker.incarnation += 1
        worker.started_at_s = at_s
        worker.rebalances = worker.connector_starts = 0
        self._log(
            worker,
            at_s,
            "worker_start",
            start_ms=str(round(at_s * 1000)),
            signature_algorithm=signing.signature_algorithm,
            verification_algorithms=", ".join(signing.verification_algorithms),
            rebalance_delay_ms=str(round(REBALANCE_DELAY_S * 1000)),
        )
        self._timeline.add(at_s + REST_READY_S, lambda _: setattr(worker, "rest_up", True))
        self._timeline.add(at_s + JOIN_S, partial(self._join, worker))

    def stop_worker(self, at_s: float, name: str) -> None:
        """Stop a worker as SIGTERM does; it is gone `STOP_S` later."""
        worker = self.state.workers[name]
        worker.phase = Phase.STOPPING
        worker.rest_up = False
        self._log(worker, at_s, "worker_stop")
        for connector in self.state.connectors.values():
            if connector.host == name:
                self._log(worker, at_s + 0.013, "connector_stop", connector=connector.name)
                connector.host = None
                if connector.failures:
                    # Seen in all versions: a retry that waits ends with a pair of errors.
                    self._log(worker, at_s + 0.946, "retry_shut_down", connector=connector.name)
                    connector.failures = 0
            if connector.task_host == name:
                self._log(worker, at_s + 0.016, "task_stop", connector=connector.name)
                connector.task_host = None
        self._log(worker, at_s + 0.95, "worker_stopped")
        self._timeline.add(at_s + STOP_S, lambda _: setattr(worker, "phase", Phase.STOPPED))
        self._delay_until_s = at_s + STOP_S + LEAVE_NOTICED_S + REBALANCE_DELAY_S
        self._timeline.add(at_s + STOP_S + LEAVE_NOTICED_S, self._rebalance)
        self._timeline.add(self._delay_until_s, self._rebalance)

    def _join(self, worker: WorkerState, at_s: float) -> None:
        worker.phase = Phase.JOINED
        self._rebalance(at_s, fresh=worker)
        if worker is self.state.leader and self.state.config_offset < 0:
            self.state.config_offset = 1
            self._rotate_session_key(at_s + 0.05)

    def _rotate_session_key(self, at_s: float) -> None:
        for member in self.state.joined:
            self._log(member, at_s, "session_key")
        self._timeline.add(at_s + SESSION_KEY_TTL_S, self._rotate_session_key)

    # Connectors --------------------------------------------------------------------------------------------------

    def put_connector(self, at_s: float, connector: ConnectorState) -> None:
        """A user creates a connector, or changes its configuration, by a PUT to the leader."""
        known = self.state.connectors.get(connector.name)
        if known is None:
            self.state.connectors[connector.name] = connector
        else:
            known.topic = connector.topic
            known.pending = True
            connector = known
        self.state.config_offset += 1
        self._log(self.state.leader, at_s, "connector_validated")
        for member in self.state.joined:
            self._log(member, at_s + 0.037, "connector_config_updated", connector=connector.name)
        body = rest_answers.json_text(rest_answers.info(connector))
        target = f"/connectors/{connector.name}/config"
        self._access(
            at_s + 0.038, AccessLine("PUT", target, 201 if known is None else 200, len(body), "curl/8.9.1", 23)
        )
        if known is None:
            self._timeline.add(at_s + 0.04, self._rebalance)
        elif known.host is not None:
            worker = self.state.workers[known.host]
            self._log(worker, at_s + 0.04, "connector_stop", connector=known.name)
            self._start_connector(worker, known, at_s + 0.05)

    def _start_connector(self, worker: WorkerState, connector: ConnectorState, at_s: float) -> None:
        self._log(worker, at_s, "connector_start", connector=connector.name, topic=connector.topic)
        connector.host = worker.name
        worker.connector_starts += 1
        if connector.pending:
            connector.failures = 0
            self._timeline.add(at_s + 0.034, partial(self._hand_over, worker, worker.incarnation, connector))

    def _hand_over(self, worker: WorkerState, incarnation: int, connector: ConnectorState, at_s: float) -> None:
        """Give the task configuration to the leader, and again after a back-off if it refuses."""
        stopped = worker.incarnation != incarnation or worker.phase is not Phase.JOINED
        if stopped or connector.host != worker.name or not connector.pending:
            return
        leader = self.state.leader
        self._log(worker, at_s, "task_configs", connector=connector.name)
        if worker is leader:
            self._timeline.add(at_s + 0.05, partial(self._tasks_written, connector))
            return
        target = f"/connectors/{connector.name}/tasks"
        if worker.signing.signature_algorithm in leader.signing.verification_algorithms:
            self._timeline.add(at_s + 0.02, partial(self._tasks_written, connector))
            self._access(at_s + 0.024, AccessLine("POST", target, 204, 0, "kafka-connect", 14))
            return
        answer = rest_answers.refusal(worker.signing.signature_algorithm, leader.signing.verification_algorithms)
        self._access(at_s + 0.012, AccessLine("POST", target, 400, len(answer), "kafka-connect", 6))
        self._log(
            worker,
            at_s + 0.013,
            "attempt_failed",
            connector=connector.name,
            signature_algorithm=worker.signing.signature_algorithm,
            permitted=", ".join(leader.signing.verification_algorithms),
        )
        backoff_s = min(BACKOFF_FIRST_S * 2**connector.failures, BACKOFF_MAX_S)
        connector.failures += 1
        self._timeline.add(at_s + 0.017 + backoff_s, partial(self._hand_over, worker, incarnation, connector))

    def _tasks_written(self, connector: ConnectorState, at_s: float) -> None:
        connector.pending = False
        connector.failures = 0
        self.state.config_offset += 2
        for member in self.state.joined:
            self._log(member, at_s, "tasks_updated", connector=connector.name)
        if connector.task_placement is None:
            connector.task_placement = connector.placement
            self._timeline.add(at_s + 0.002, self._rebalance)
        elif connector.task_host is not None:
            worker = self.state.workers[connector.task_host]
            self._log(worker, at_s + 0.002, "task_stop", connector=connector.name)
            self._start_task(worker, connector, at_s + 0.95)

    def _start_task(self, worker: WorkerState, connector: ConnectorState, at_s: float) -> None:
        self._log(worker, at_s, "task_start", connector=connector.name, topic=connector.topic)
        connector.task_host = worker.name
        connector.task_started_at_s = at_s

    # The group ---------------------------------------------------------------------------------------------------

    def _rebalance(self, at_s: float, fresh: WorkerState | None = None) -> None:
        state = self.state
        state.generation += 1
        # What a worker that left had is handed out when the delay is over, not when somebody joins.
        waiting = at_s < self._delay_until_s
        delay_ms = str(round((self._delay_until_s - at_s) * 1000) if waiting else 0)
        for worker in state.joined:
            worker.rebalances += 1
            worker.last_rebalance_s = at_s
            mine = [c for c in state.connectors.values() if c.placement == worker.name]
            new = [] if waiting else [c for c in mine if c.host is None]
            my_tasks = [c for c in state.connectors.values() if c.task_placement == worker.name]
            new_tasks = [] if waiting else [c for c in my_tasks if c.task_host is None]
            values = {
                "generation": str(state.generation),
                "offset": str(state.config_offset),
                "connectors": ", ".join(c.name for c in mine if c.host or c in new),
                "tasks": ", ".join(f"{c.name}-0" for c in my_tasks if c.task_host or c in new_tasks),
                "revoked_connectors": "",
                "revoked_tasks": "",
                "delay_ms": delay_ms,
            }
            self._log(worker, at_s, "group_join", **values)
            if worker is fresh:
                self._log(worker, at_s + 0.019, "herder_started")
            self._log(worker, at_s + 0.02, "assignment_start", **values)
            for connector in new:
                self._start_connector(worker, connector, at_s + 0.021)
            for connector in new_tasks:
                self._start_task(worker, connector, at_s + 0.022)
            self._log(worker, at_s + 0.062, "assignment_end")

    def _log(self, worker: WorkerState, at_s: float, template: str, **values: str) -> None:
        records = templates.log_records(
            template,
            {
                "worker": worker.host_port,
                "port": str(worker.rest_port),
                "member": worker.member,
                "leader": self.state.leader.host_port,
                "leader_member": self.state.leader.member,
                "group": GROUP,
                "broker": BROKER,
                **values,
            },
        )
        for record in records:
            self._print(worker, at_s + record.offset_s, record.text)

    def _access(self, at_s: float, line: AccessLine) -> None:
        self._print(self.state.leader, at_s, access_record(at_s, line))

    def _print(self, worker: WorkerState, at_s: float, text: str) -> None:
        self._timeline.add(at_s, lambda due_s: self._write(worker.name, due_s, text))
