"""What to change, as property lines, on which workers, in which order. The smaller change comes first."""

from __future__ import annotations

from exporter.connect.reasons import REASONS


def for_mismatch(
    follower: str, leader: str, algorithm: str, permitted: tuple[str, ...], others: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Both ways out of a refused signing algorithm (KIP-507): correct the follower, or permit its algorithm everywhere.

    Args:
        follower: name of the worker that signs with `algorithm`.
        leader: name or URL of the worker that refuses it.
        algorithm: what the follower signs with.
        permitted: the leader's list.
        others: names of all other known workers; any of them may become leader.
    """
    accepted = permitted[0] if permitted else "an algorithm that the leader permits"
    extended = ",".join((*permitted, algorithm))
    everyone = ", ".join(others) if others else f"{leader} and every other worker"
    restart = "restart it" if others == (leader,) else "restart them one by one, the leader last"
    return (
        f"On {follower} set inter.worker.signature.algorithm={accepted} and restart {follower}.",
        f"Or on {everyone} set inter.worker.verification.algorithms={extended} and {restart}.",
    )


def for_reason(reason: str) -> tuple[str, ...]:
    """Remedies of a loop's reason."""
    return REASONS[reason].remedies if reason in REASONS else REASONS["other"].remedies


VERIFICATION_OFF = (
    "On every worker remove connect.protocol from its properties or set connect.protocol=sessioned, and restart them one by one.",
    "Upgrade workers older than Kafka 2.4: one of them switches verification off for all.",
)

SHARED_ADDRESS = (
    "Give each worker its own rest.advertised.host.name and rest.advertised.port, and restart them one by one.",
    "If it is one worker, name it once in the exporter's configuration.",
)

WITHOUT_TASKS = (
    "If the connector should have tasks now, read its log lines and its configuration; some connectors rightly have none.",
)

TASKS_FAIL = (
    "Read the exception in the worker's log or in GET /connectors/NAME/status and correct the connector's configuration.",
    "Then POST /connectors/NAME/restart?includeTasks=true&onlyFailed=true.",
)
