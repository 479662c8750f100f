"""The configuration file: what a good one means, and what each wrong one is told."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config import Cluster, Config, JmxEndpoint, Limits, Listen, LogInputs, RestEndpoint, Secret, Worker, load
from exporter.errors import ConfigError

FILES = Path(__file__).parents[2] / "data" / "config"
ENVIRONMENT = {"REST_PASSWORD": "geheim", "JMX_PASSWORD": "verdeckt"}

FAULTS = {
    "bad_default_of_two_workers": ["8: defaults.logs.timezon: unknown key. Did you mean timezone?"],
    "bad_duration": ["6: defaults.poll_interval: 15 is not a duration: write it like 15s, 500ms or 2m."],
    "bad_jmx_address": [
        "4: clusters[0].workers[0].jmx.address: 'w1' is not a JMX address. Write it like connect-0:9999 or [fd00::1]:9999."
    ],
    "bad_limit": ["6: limits.tasks: expected a whole number from 1 to 10000000, found 0."],
    "bad_listen": ["5: listen: '0.0.0.0:99999' is not an address: the port 99999 is above 65535."],
    "bad_scope": ["3: clusters[0].scope: expected cluster or worker, found 'all'."],
    "bad_size": ["4: clusters[0].workers[0].logs.first_read_limit: '3MB' is not a size: write it like 256MiB or 1GiB."],
    "bad_timezone": [
        "4: clusters[0].workers[0].logs.timezone: 'Berlin' is not a time zone: write it like Europe/Berlin or UTC."
    ],
    "bad_transport": ["4: clusters[0].workers[0].jmx.transport: expected bridge or jmxquery, found 'rmi'."],
    "bad_url": [
        "4: clusters[0].workers[0].rest.url: 'w1:8083' is not the URL of a worker: write it like http://connect-0:8083."
    ],
    "cluster_no_name": ["2: clusters[0].name: missing. Give it a name; it becomes a label."],
    "cluster_twice": ["3: clusters[1].name: 'a' is used twice. Give each its own name."],
    "duplicate_key": ["6: the key state stands here a second time. Remove one of the two."],
    "empty": ["1: expected keys and values, found nothing. Begin with `clusters:`."],
    "extra_later": [
        "4: clusters[0].workers[0].jmx.extra: not yet supported in this version (further MBeans). Remove the key."
    ],
    "jmx_credentials": [
        "4: clusters[0].workers[0].jmx.address: A JMX address has no user name and password in it. Write the address like connect-0:9999, and give username and password_file beside it."
    ],
    "jmx_list": ["4: clusters[0].workers[0].jmx: expected a text or keys and values, found a list."],
    "jmx_no_address": ["4: clusters[0].workers[0].jmx.address: missing. Write it like connect-0:9999."],
    "listen_bare_port": ["5: listen: '9507' is not an address: write it like 0.0.0.0:9507 or [::1]:9507."],
    "logs_empty": [
        "4: clusters[0].workers[0].logs.paths: expected a file name or a list of them, found an empty list."
    ],
    "no_clusters": ["1: clusters: expected a list with at least one entry, found nothing."],
    "no_workers": ["2: clusters[0].workers: expected a list with at least one entry, found nothing."],
    "not_a_mapping": ["1: expected keys and values, found a list. Begin with `clusters:`."],
    "not_yaml": ["3: not YAML: found unexpected end of stream. Check indentation and quotes there."],
    "odd_date": [" not YAML: month must be in 1..12. Put odd values in quotes."],
    "password_env_unset": [
        "4: clusters[0].workers[0].rest.password: the environment variable NOT_SET is not set. Set it where the exporter starts."
    ],
    "password_file_missing": [
        "4: clusters[0].workers[0].rest.password_file: /nonexistent/pw cannot be read: No such file or directory. Correct it or its permissions."
    ],
    "password_in_file": [
        "4: clusters[0].workers[0].rest.password: a password does not belong into this file. Use password_file, or password: ${env:NAME}."
    ],
    "pattern_later": [
        "4: clusters[0].workers[0].logs.pattern: not yet supported in this version (own log patterns). Remove the key."
    ],
    "rest_no_url": ["4: clusters[0].workers[0].rest.url: missing. Write it like http://connect-0:8083."],
    "several": [
        "4: clusters[0].workers[0].jmx.address: 'w1' is not a JMX address. Write it like connect-0:9999 or [fd00::1]:9999.",
        "4: clusters[0].workers[0].rest.url: 'ftp://w1' is not the URL of a worker: write it like http://connect-0:8083.",
        "5: stat: unknown key. Did you mean state?",
        "6: listen: ':x' is not an address: write it like 0.0.0.0:9507 or [::1]:9507.",
    ],
    "stdin_later": [
        "4: clusters[0].workers[0].logs.paths: missing. Give the worker's log file.",
        "4: clusters[0].workers[0].logs.stdin: not yet supported in this version (logs on standard input). Remove the key.",
    ],
    "tls_later": [
        "4: clusters[0].workers[0].rest.tls: not yet supported in this version (TLS to workers). Remove the key."
    ],
    "transport_later": [
        "4: clusters[0].workers[0].jmx.transport: jolokia is not yet supported in this version. Use bridge or jmxquery."
    ],
    "unknown_key": ["5: stat: unknown key. Did you mean state?"],
    "unknown_key_far": ["5: defaults.zzz: unknown key. Known here: poll_interval, rest_interval, timeout, jmx, logs."],
    "url_credentials": [
        "4: clusters[0].workers[0].rest.url: the URL holds a user name or password: give them as username and password_file."
    ],
    "worker_empty": ["4: clusters[0].workers[0]: empty. Give name and at least one of jmx, rest, logs."],
    "worker_name_number": ["4: clusters[0].workers[0].name: expected a text, found 1."],
    "worker_no_input": ["4: clusters[0].workers[0]: nothing to read. Give at least one of jmx, rest, logs."],
    "worker_no_name": ["4: clusters[0].workers[0].name: missing. Give it a name; it becomes a label."],
    "worker_text": ["4: clusters[0].workers[0]: expected keys and values, found 'w1'."],
    "worker_twice": ["5: clusters[0].workers[1].name: 'w1' is used twice. Give each its own name."],
}


def test_every_key_reaches_its_place() -> None:
    """Long and short forms, defaults under both, units converted, secrets from the environment."""
    jmx_password = Secret("verdeckt")
    assert load(FILES / "whole.yaml", ENVIRONMENT) == Config(
        (
            Cluster(
                "payments",
                (
                    Worker(
                        "connect-0",
                        jmx=JmxEndpoint("connect-0:9999", "monitor", jmx_password, "jmxquery"),
                        rest=RestEndpoint("http://connect-0:8083"),
                        logs=LogInputs(("/var/log/kafka/connect.log", "/var/log/kafka/*.out"), "Europe/Berlin"),
                        properties=Path("/etc/kafka/connect-distributed.properties"),
                    ),
                    Worker(
                        "connect-1",
                        jmx=JmxEndpoint("[fd00::1]:9999", "monitor", jmx_password, "bridge"),
                        rest=RestEndpoint("https://connect-1:8083", "reader", Secret("geheim")),
                        logs=LogInputs(("/var/log/kafka/connect.log",), "UTC", 2**30),
                    ),
                ),
                "cluster",
            ),
            Cluster("mirror", (Worker("connect-0", logs=LogInputs(("/var/log/mm2.log",), "Europe/Berlin")),), "worker"),
        ),
        listen=Listen("::1", 9600),
        state=Path("/var/lib/kafka-connect-exporter"),
        limits=Limits(10, 20, 30),
        poll_interval_s=5.0,
        rest_interval_s=60.0,
        timeout_s=0.5,
    )


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told_with_line_key_and_remedy(name: str) -> None:
    """One bad file per fault; the message is exact."""
    file = FILES / f"{name}.yaml"
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    told = str(caught.value)
    assert told.split("\n") == [f"{file}:{line}" for line in FAULTS[name]]
    assert "geheim" not in told


def test_every_bad_file_is_in_the_table() -> None:
    """None lies there untested."""
    assert {file.stem for file in FILES.glob("*.yaml")} == {*FAULTS, "whole"}


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With what to correct."""
    with pytest.raises(ConfigError, match=r"no\.yaml cannot be read: No such file or directory\. Correct the path"):
        load(tmp_path / "no.yaml")


def test_a_password_file_is_read_without_its_line_end(tmp_path: Path) -> None:
    """Editors end files with a newline; a password with blanks keeps them."""
    (tmp_path / "pw").write_text(" geheim \n")
    file = tmp_path / "c.yaml"
    file.write_text(
        f"clusters: [{{name: a, workers: [{{name: w, rest: {{url: 'http://w:1', username: u, password_file: {tmp_path}/pw}}}}]}}]"
    )
    rest = load(file).clusters[0].workers[0].rest
    assert rest is not None
    assert rest.password == Secret(" geheim ")


def test_a_workers_own_password_displaces_the_default(tmp_path: Path) -> None:
    """A default password_file, here one that is not there, is not read for a worker with a password of its own."""
    file = tmp_path / "c.yaml"
    file.write_text(
        "clusters: [{name: a, workers: [{name: w, jmx: {address: 'w:1', username: u, password: '${env:P}'}}]}]\n"
        "defaults: {jmx: {password_file: /nonexistent/pw}}\n"
    )
    jmx = load(file, {"P": "own"}).clusters[0].workers[0].jmx
    assert jmx is not None
    assert jmx.password == Secret("own")


def test_an_anchor_shared_by_two_workers_is_read_twice_alike(tmp_path: Path) -> None:
    """Defaults laid under the first do not change the second."""
    file = tmp_path / "c.yaml"
    file.write_text(
        "clusters:\n  - name: a\n    workers:\n"
        "      - {name: w1, logs: &l {paths: /a.log}}\n      - {name: w2, logs: *l}\n"
        "defaults: {logs: {timezone: UTC}}\n"
    )
    first, second = load(file).clusters[0].workers
    assert first.logs == second.logs == LogInputs(("/a.log",), "UTC")


def test_a_secret_never_shows_itself() -> None:
    """Printed, formatted, dumped, in a dict of the whole configuration, in a traceback's repr."""
    config = Config((Cluster("a", (Worker("w", rest=RestEndpoint("http://w:1", "u", Secret("geheim"))),)),))
    secret = Secret("geheim")
    shown = [
        repr(secret),
        str(secret),
        f"{secret} {secret!r}",
        repr(config),
        repr(dataclasses.asdict(config)),
        json.dumps(dataclasses.asdict(config), default=str),
    ]
    assert not [text for text in shown if "geheim" in text]
    assert secret.reveal() == "geheim"
    with pytest.raises(TypeError):
        json.dumps(secret)
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        vars(secret)


def test_equal_secrets_are_equal_so_that_a_reload_sees_no_change() -> None:
    """And unequal ones are not."""
    assert Secret("a") == Secret("a")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b")


YAML_TEXT = st.text(alphabet="clustersnamworkjpglh:9{}[]&*!|>'\"%@-#,?\n \t0.\x07äé", max_size=60)


@given(st.one_of(YAML_TEXT, YAML_TEXT.map(lambda t: "clusters:\n  - name: a\n    workers: [{name: w, " + t)))
def test_no_text_gets_out_of_the_reader_but_as_its_own_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """Whatever stands there, it is a configuration or a ConfigError."""
    file = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    file.write_text(text, encoding="utf-8")
    try:
        told = str(load(file, {}).clusters and file)
    except ConfigError as error:
        told = str(error)
    assert str(file) in told


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("password: '${env:P}'", "jmx.username: missing. A password without a user name is never sent."),
        ("username: u", "jmx.password_file: missing. Name the file with the password."),
    ],
)
def test_half_of_the_credentials_is_a_fault(tmp_path: Path, entry: str, said: str) -> None:
    """Neither is silently left out."""
    file = tmp_path / "c.yaml"
    file.write_text(f"clusters: [{{name: a, workers: [{{name: w, jmx: {{address: 'w:1', {entry}}}}}]}}]")
    with pytest.raises(ConfigError) as caught:
        load(file, {"P": "own"})
    assert said in str(caught.value)


def test_what_may_be_a_secret_in_a_url_is_not_repeated(tmp_path: Path) -> None:
    """A query is refused without showing it."""
    file = tmp_path / "c.yaml"
    file.write_text("clusters: [{name: a, workers: [{name: w, rest: 'http://h:1?password=hunter2'}]}]")
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert "hunter2" not in str(caught.value)
