"""Texts to values: durations, sizes, addresses, URLs; and the arguments of `run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.config import JmxEndpoint, Listen, LogInputs, RestEndpoint, from_arguments, values
from exporter.errors import ConfigError


@pytest.mark.parametrize(("text", "seconds"), [("15s", 15), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5s", 1.5)])
def test_durations(text: str, seconds: float) -> None:
    """A number and its unit."""
    assert values.duration_s(text) == seconds


@pytest.mark.parametrize("text", ["15", 15, "0s", "-1s", "s", "1d", None, True])
def test_durations_without_unit_or_sense_are_refused(text: object) -> None:
    """15 of what? And never zero."""
    with pytest.raises(ValueError, match="is not a duration: write it like 15s"):
        values.duration_s(text)


@pytest.mark.parametrize(("text", "size"), [("256MiB", 2**28), ("1 KiB", 1024), ("2GiB", 2**31), (17, 17), ("5B", 5)])
def test_sizes(text: object, size: int) -> None:
    """Binary units."""
    assert values.size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "listen"),
    [
        ("0.0.0.0:9507", Listen("0.0.0.0", 9507)),
        (":80", Listen("0.0.0.0", 80)),
        ("[::1]:80", Listen("::1", 80)),
        ("[::1]", Listen("::1", 9507)),
        ("localhost", Listen("localhost", 9507)),
        ("127.0.0.1:0", Listen("127.0.0.1", 0)),
    ],
)
def test_addresses_to_listen_on(text: str, listen: Listen) -> None:
    """Host, port or both."""
    assert values.listen(text) == listen


@pytest.mark.parametrize("text", ["9507", "::1", "a:b", "a:99999", "", None, "a b:1", "\u0663:\u0663"])
def test_addresses_that_cannot_be_meant_are_refused(text: object) -> None:
    """A bare port is no host, a bare v6 address has no clear port."""
    with pytest.raises(ValueError, match="is not an address"):
        values.listen(text)


@pytest.mark.parametrize("url", ["http://w1:8083", "https://[fd00::1]:8083", "http://w1.example/connect"])
def test_urls(url: str) -> None:
    """Kept as they are, without the trailing slash."""
    assert values.rest_url(url + "/") == url


@pytest.mark.parametrize(
    "url",
    ["w1:8083", "ftp://w1", "http://", "http://a b:1", "http://w1:0", "http://w1:x", "http://w1?a=b", "http://w\x00"],
)
def test_urls_of_no_worker_are_refused(url: str) -> None:
    """With how to write one."""
    with pytest.raises(ValueError, match="write it like http://connect-0:8083"):
        values.rest_url(url)


@pytest.mark.parametrize("url", ["http://u:geheim@w1", "http://u:ge/heim@w1", "http://u:123/geheim@w1", "u:geheim@w1"])
def test_a_url_with_a_password_is_refused_without_showing_it(url: str) -> None:
    """Also where its characters make the URL another one."""
    with pytest.raises(ValueError, match="give them as username and password_file") as caught:
        values.rest_url(url)
    assert "heim" not in str(caught.value)


@pytest.mark.parametrize(
    ("jmx", "rest", "worker", "name"),
    [
        ("connect-0:9999", "http://other:8083", None, "connect-0"),
        ("localhost:9999", "http://connect-1:8083", None, "connect-1"),
        ("127.0.0.1:9999", "http://[::1]:8083", None, "this-host"),
        (None, None, None, "this-host"),
        ("connect-0:9999", None, "chosen", "chosen"),
    ],
)
def test_the_workers_name_is_a_host_that_others_know(
    jmx: str | None, rest: str | None, worker: str | None, name: str
) -> None:
    """--worker, else the host of --jmx or --rest unless loopback, else this host's name."""
    config = from_arguments(jmx=jmx, rest=rest, logs=["/a.log"], worker=worker, hostname=lambda: "this-host")
    assert config.clusters[0].workers[0].name == name
    assert config.clusters[0].name == "default"


def test_arguments_give_every_input() -> None:
    """JMX, REST, logs, names, address and state directory."""
    config = from_arguments(
        jmx="w:9999",
        rest="http://w:8083/",
        logs=["/a.log", "/b/*.log"],
        cluster="c",
        listen=Listen("::1", 1),
        state=Path("/s"),
    )
    worker = config.clusters[0].workers[0]
    assert (worker.jmx, worker.rest) == (JmxEndpoint("w:9999"), RestEndpoint("http://w:8083"))
    assert worker.logs == LogInputs(("/a.log", "/b/*.log"))
    assert (config.clusters[0].name, config.listen, config.state) == ("c", Listen("::1", 1), Path("/s"))


def test_the_scope_follows_the_inputs() -> None:
    """A worker's own JMX or log: what it hosts. REST alone: the cluster."""
    assert from_arguments(rest="http://w:1").clusters[0].scope == "cluster"
    assert from_arguments(rest="http://w:1", jmx="w:2").clusters[0].scope == "worker"
    assert from_arguments(logs=["/a"]).clusters[0].scope == "worker"


def test_wrong_arguments_are_told_by_their_option() -> None:
    """--jmx and --rest."""
    with pytest.raises(ConfigError, match=r"^--rest: .*write it like"):
        from_arguments(rest="w:8083")
    with pytest.raises(ConfigError, match=r"^--jmx: .*Write it like"):
        from_arguments(jmx="w")


@pytest.mark.parametrize("text", ["99ms", "25h", "9999999h", "0.0001ms"])
def test_durations_out_of_range_are_refused(text: str) -> None:
    """Neither a poll without pause nor one that never comes."""
    with pytest.raises(ValueError, match="from 100ms to 24h"):
        values.duration_s(text)


def test_a_wrong_value_is_shown_short_and_without_credentials() -> None:
    """A URL with a password can stand at any wrong place."""
    assert "geheim" not in values.shown("http://u:geheim@h")
    assert "geheim" not in values.shown("http://u:ge/heim@h").replace("ge/heim", "geheim")
    assert len(values.shown("x" * 5000)) < 100
