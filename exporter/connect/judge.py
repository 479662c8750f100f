"""From snapshots to findings: what is wrong in each cluster, who is concerned, what to do.

Pure; time is a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exporter.connect import remedies
from exporter.connect.hosting import hosted_connectors
from exporter.connect.kafka_rules import VERIFYING_PROTOCOL, refuses, worker_id_of
from exporter.connect.loops import SILENCE_S
from exporter.connect.reasons import REASONS, Severity
from exporter.connect.snapshot import LoopView, WorkerSnapshot

PERSISTENT_LOOP_S = 60.0
"""A loop younger than this may be the burst of a leader's restart (KAFKA-LIVE.md §1.10)."""

_ORDER: dict[Severity, int] = {"critical": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        id: stable word, e.g. signing_algorithm_mismatch.
        cluster: label connect_cluster.
        workers: concerned workers; for a mismatch the follower, then the leader.
        connectors: concerned connectors.
        summary: one sentence with names.
        remedies: what to do, smaller change first.
        since_s: epoch seconds, None if unknown.
    """

    id: str
    severity: Severity
    cluster: str
    workers: tuple[str, ...]
    connectors: tuple[str, ...]
    summary: str
    remedies: tuple[str, ...]
    since_s: float | None = None


def judge(snapshots: Sequence[WorkerSnapshot], now_s: float) -> tuple[Finding, ...]:
    """All findings of all clusters, the worst first.

    Args:
        snapshots: one per worker.
        now_s: epoch seconds.
    """
    clusters: dict[str, list[WorkerSnapshot]] = {}
    for snapshot in snapshots:
        clusters.setdefault(snapshot.cluster, []).append(snapshot)
    findings: list[Finding] = []
    for members in clusters.values():
        for rule in (_mismatches, _predicted, _loops, _without_tasks, _failures, _verification, _shared, _sources):
            findings += rule(members, now_s)
    return tuple(sorted(findings, key=lambda f: (_ORDER[f.severity], f.cluster, f.id, f.workers)))


def _name_of(members: Sequence[WorkerSnapshot], url: str | None) -> str:
    """The worker's name where the URL is one of ours, else the URL."""
    worker_id = worker_id_of(url)
    return next((s.worker for s in members if worker_id is not None and s.worker_id == worker_id), url or "the leader")


def _text_list(names: Sequence[str]) -> str:
    shown = ", ".join(name or "(not named in the log)" for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"  # noqa: PLR2004


def _mismatches(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:  # noqa: ARG001
    for s in members:
        mismatch = s.log.mismatch if s.log is not None else None
        if s.log is None or mismatch is None:
            continue
        loops = [x for x in s.log.loops if x.reason == "algorithm_not_permitted"]
        leader = _name_of(members, mismatch.leader_url)
        permitted = ", ".join(mismatch.permitted)
        fact = f"{s.worker} signs with {mismatch.algorithm}; the leader {leader} permits [{permitted}]."
        if loops:
            old = [x.connector for x in loops if x.keeps_tasks]
            effect = f"No task configuration of {_text_list([x.connector for x in loops])} reaches the cluster"
            effect += f"; {_text_list(old)} run with their old configuration." if old else "."
        else:
            effect = "Nothing has failed lately; the next change of a task configuration will."
        yield Finding(
            "signing_algorithm_mismatch" if loops else "signing_algorithm_mismatch_latent",
            "critical" if loops else "warning",
            s.cluster,
            (s.worker, leader),
            tuple(x.connector for x in loops),
            f"{fact} {effect}",
            remedies.for_mismatch(
                s.worker,
                leader,
                mismatch.algorithm,
                mismatch.permitted,
                tuple(m.worker for m in members if m is not s),
            ),
            mismatch.since_s,
        )


def _predicted(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:  # noqa: ARG001
    for follower in members:
        algorithm = follower.config.signature_algorithm if follower.config is not None else None
        if algorithm is None or (follower.log is not None and follower.log.mismatch is not None):
            continue
        for leader in members:
            permitted = leader.config.verification_algorithms if leader.config is not None else None
            if leader is follower or permitted is None or not refuses(algorithm, permitted):
                continue
            yield Finding(
                "signing_algorithm_mismatch_predicted",
                "warning",
                follower.cluster,
                (follower.worker, leader.worker),
                (),
                f"{follower.worker} signs with {algorithm}; {leader.worker} permits [{', '.join(permitted)}] "
                f"and would refuse it as leader.",
                remedies.for_mismatch(follower.worker, leader.worker, algorithm, permitted, (leader.worker,)),
            )


def _loops(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:
    for s in members:
        by_reason: dict[str, list[LoopView]] = {}
        for loop in s.log.loops if s.log is not None else ():
            if loop.reason != "algorithm_not_permitted":
                by_reason.setdefault(loop.reason, []).append(loop)
        for reason_id, loops in by_reason.items():
            reason = REASONS[reason_id]
            starts = [x.start_s for x in loops if x.start_s is not None]
            young = bool(starts) and all(
                (x.last_attempt_s or now_s) - (x.start_s or now_s) < PERSISTENT_LOOP_S for x in loops
            )
            attempts = sum(x.attempts for x in loops)
            ending = (
                f" It may end by itself; after {SILENCE_S:.0f} s without an attempt it counts as over." if young else ""
            )
            yield Finding(
                "task_reconfiguration_loop" if reason_id != "connector_error" else "connector_error",
                "info" if young else reason.severity,
                s.cluster,
                (s.worker,),
                tuple(x.connector for x in loops),
                f"{s.worker} has failed {attempts} times to hand over task configurations of "
                f"{_text_list([x.connector for x in loops])}. {reason.summary}{ending}",
                remedies.for_reason(reason_id),
                min(starts) if starts else None,
            )


def _without_tasks(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:  # noqa: ARG001
    looping = {x.connector for s in members for x in (s.log.loops if s.log is not None else ())}
    for h in hosted_connectors(members):
        name = h.connector.name
        if h.tasks_known_everywhere and h.connector.state == "running" and not h.tasks and name not in looping:
            yield Finding(
                "connector_without_tasks",
                "info",
                h.cluster,
                (h.worker,),
                (name,),
                f"{name} is RUNNING on {h.worker} and has no task on any worker; no failed attempt is known.",
                remedies.WITHOUT_TASKS,
            )


def _failures(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:  # noqa: ARG001
    names: dict[str | None, str] = {s.worker_id: s.worker for s in members if s.worker_id is not None}
    for h in hosted_connectors(members):
        failed = [task for task in h.tasks if task.state == "failed"]
        if not failed and h.connector.state != "failed":
            continue
        causes = sorted(
            {
                f.cause
                for s in members
                for f in (s.log.failures if s.log is not None else ())
                if f.connector == h.connector.name and f.cause
            }
        )
        because = f" Causes in the log: {', '.join(causes)}." if causes else ""
        connector_failed = h.connector.state == "failed"
        what = f"The connector {h.connector.name}"
        if not connector_failed:
            what = f"{len(failed)} of {len(h.tasks)} tasks of {h.connector.name}"
        yield Finding(
            "connector_failed" if connector_failed else "task_failed",
            "warning",
            h.cluster,
            tuple(dict.fromkeys([h.worker, *(names.get(t.worker_id, t.worker_id or h.worker) for t in failed)])),
            (h.connector.name,),
            f"{what} FAILED.{because}",
            remedies.TASKS_FAIL,
        )


def _verification(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:  # noqa: ARG001
    off = [s for s in members if s.verifies is False]
    if not off:
        return
    causes = [
        s.worker
        for s in members
        if s.config is not None and s.config.connect_protocol not in (None, VERIFYING_PROTOCOL)
    ]
    downgraded = any(sum(s.log.counts.get("protocol_downgrades", {}).values()) for s in off if s.log is not None)
    protocol = off[0].protocol
    by = f" because of connect.protocol on {_text_list(causes)}" if causes else ""
    yield Finding(
        "protocol_downgraded" if downgraded else "verification_disabled",
        "critical" if downgraded else "warning",
        off[0].cluster,
        tuple(dict.fromkeys([*causes, *(s.worker for s in off)])),
        (),
        f"The group runs the protocol {protocol}{by}: internal requests are not verified, anybody who reaches a "
        f"worker's REST port can replace task configurations.",
        remedies.VERIFICATION_OFF,
    )


def _shared(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:  # noqa: ARG001
    by_id: dict[str, list[WorkerSnapshot]] = {}
    for s in members:
        if s.worker_id is not None:
            by_id.setdefault(s.worker_id, []).append(s)
    for worker_id, sharing in by_id.items():
        if len(sharing) > 1:
            names = tuple(s.worker for s in sharing)
            yield Finding(
                "advertised_address_shared",
                "warning",
                sharing[0].cluster,
                names,
                (),
                f"{_text_list(names)} advertise one address, {worker_id}: requests to one of them reach another.",
                remedies.SHARED_ADDRESS,
            )


def _sources(members: Sequence[WorkerSnapshot], now_s: float) -> Iterator[Finding]:  # noqa: ARG001
    for s in members:
        down = [h for h in s.sources if h.up is False]
        live = [h for h in s.sources if h.source in ("jmx", "rest")]
        unseen = bool(live) and all(h.up is False for h in live)
        if unseen:
            yield Finding(
                "worker_unseen",
                "critical",
                s.cluster,
                (s.worker,),
                (),
                f"{s.worker} answers neither over {' nor over '.join(h.source.upper() for h in live)}."
                if len(live) > 1
                else f"{s.worker} does not answer over {live[0].source.upper()}.",
                tuple(h.problem for h in live),
                max((h.since_s for h in live if h.since_s is not None), default=None),
            )
        for h in down:
            if not (unseen and h in live):
                yield Finding(
                    "source_down",
                    "warning",
                    s.cluster,
                    (s.worker,),
                    (),
                    f"{s.worker}: {h.source} cannot be read.",
                    (h.problem,),
                    h.since_s,
                )
