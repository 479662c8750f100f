"""From Java's exceptions to what a user needs to know: reason, sentence, remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from exporter.errors import SourceError
from exporter.sources.jmx.transport import Target


@dataclass(frozen=True, slots=True)
class _Failure:
    text: re.Pattern[str]
    reason: str
    message: str
    remedy: str


# Matched against "class: message" of the exception and its causes, one a line; the first match wins.
_FAILURES: tuple[_Failure, ...] = tuple(
    _Failure(re.compile(text), reason, message, remedy)
    for text, reason, message, remedy in (
        (
            r"NoInitialContextException",
            "no_java",
            "The Java at hand lacks JNDI, which jmxquery needs to reach {target}.",
            "Use transport: bridge, or install a whole Java (apt-get install default-jre-headless).",
        ),
        (
            r"Credentials required",
            "auth",
            "JMX at {target} wants a user name and a password.",
            "Give username and password_file.",
        ),
        (
            r"Authentication failed|FailedLoginException",
            "auth",
            "JMX at {target} refused the user name or password.",
            "Correct username and password_file; the worker's side is jmxremote.password.",
        ),
        (
            r"SecurityException: Access denied",
            "auth",
            "JMX at {target} lets this user read nothing.",
            "Give the user at least readonly in the worker's jmxremote.access.",
        ),
        (
            r"UnknownHostException",
            "unresolved",
            "The host name of {target}, or the one its JMX names, cannot be resolved.",
            "Correct the address, or set -Djava.rmi.server.hostname on the worker to a name that resolves here.",
        ),
        (
            r"Connection refused",
            "refused",
            "Nothing listens at {target}, or at the RMI address it names.",
            "Start the worker with JMX_PORT set, and set jmxremote.rmi.port and java.rmi.server.hostname to what is "
            "reachable from here.",
        ),
        (
            r"timed out|SocketTimeoutException|NoRouteToHostException|Network is unreachable",
            "timeout",
            "{target} does not answer.",
            "Check firewall and network; a stopped JVM accepts connections and never answers.",
        ),
        (
            r"UnmarshalException|Connection reset|Broken pipe",
            "transport",
            "The connection to {target} broke while it was read.",
            "The next poll connects again; if it lasts, look whether the worker restarts again and again.",
        ),
        (
            r"non-JRMP server|NotBoundException|NoSuchObjectException|not a (?:valid )?JRMP|error during JRMP connection"
            r"|ConnectIOException|EOFException|StreamCorruptedException",
            "not_jmx",
            "What listens at {target} is not JMX over RMI, or wants TLS.",
            "Check the port: it is the one of -Dcom.sun.management.jmxremote.port (JMX_PORT).",
        ),
    )
)


def timed_out(target: Target, deadline_s: float) -> SourceError:
    """The worker did not answer in time."""
    return SourceError(
        "timeout",
        f"{target} did not answer in {deadline_s:g} s.",
        "Check whether the worker hangs, whether the port is the JMX one, and whether the port that JMX names "
        "(jmxremote.rmi.port) is reachable from here.",
    )


def explain(target: Target, text: str) -> SourceError:
    """The error for an exception told as text."""
    for failure in _FAILURES:
        if failure.text.search(text):
            return SourceError(failure.reason, failure.message.format(target=target), failure.remedy)
    first = text.partition("\n")[0][:300]
    return SourceError(
        "transport",
        f"JMX at {target} cannot be read: {first}.",
        "If it lasts, look into the worker's log at the time of the poll.",
    )
