"""The status page as a browser shows it, served by the running exporter over the logs of a real mismatch."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from support.recordings import log_bytes
from support.waiting import wait_for

from exporter.app import Exporter
from exporter.config import Cluster, Config, Listen, LogInputs, Worker
from exporter.web.serve import serving

SCENARIO = "4.4.0/s1"
"""w2 signs with HmacSHA512, the leader w1 permits HmacSHA256 only."""

_STAMP = re.compile(rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]", re.MULTILINE)


def _until_last_failure() -> tuple[dict[str, bytes], float]:
    """Both logs up to the follower's last failed attempt, before anybody mended anything; and that moment."""
    follower = log_bytes(SCENARIO, "w2")
    last = follower.rindex(b"Failed to reconfigure connector's tasks")
    following = _STAMP.search(follower, last)
    assert following is not None
    leader = log_bytes(SCENARIO, "w1")
    later = next((match.start() for match in _STAMP.finditer(leader) if match[1] >= following[1]), len(leader))
    stamps = _STAMP.findall(follower, 0, following.start())
    at = datetime.strptime(f"{stamps[-1].decode()}000+0000", "%Y-%m-%d %H:%M:%S,%f%z")  # recorded in UTC
    return {"w1": leader[:later], "w2": follower[: following.start()]}, at.timestamp()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Where the exporter serves, everything read."""
    workers = []
    logs, at_s = _until_last_failure()
    for name, log in logs.items():
        (tmp_path / f"{name}.log").write_bytes(log)
        workers.append(Worker(name, logs=LogInputs((str(tmp_path / f"{name}.log"),))))
    config = Config((Cluster("payments", tuple(workers)),), listen=Listen("127.0.0.1", 0))
    began_s = time.monotonic()

    def clock() -> float:
        return at_s + time.monotonic() - began_s

    exporter = Exporter(config, clock=clock)
    try:
        exporter.start()
        wait_for("both logs are read", exporter.ready, 30)
        with serving(exporter, config.listen, clock) as port:
            yield f"http://127.0.0.1:{port}"
    finally:
        exporter.stop()


def _chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.fail("chromium is missing: apt-get install chromium")
    return found


def _run(profile: Path, *arguments: str) -> str:
    command = [
        _chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _text(dom: str) -> str:
    body = re.sub(r"<style>.*?</style>", "", dom, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_person_on_call_sees_cause_and_remedy(url: str, tmp_path: Path) -> None:
    """The browser shows who signs with what, who permits what, which connectors wait, and what to change."""
    text = _text(_run(tmp_path / "profile", "--dump-dom", f"{url}/"))
    assert "critical signing algorithm mismatch · payments" in text
    assert "w2 signs with HmacSHA512; the leader w1 permits [HmacSHA256]." in text
    assert "On w2 set inter.worker.signature.algorithm=HmacSHA256 and restart w2." in text
    assert "No task configuration of billing.events reaches the cluster" in text
    assert re.search(r"w2 billing\.events algorithm not permitted \(400\) 10 .* \d+ s ago", text)


def test_the_page_fits_a_phone(url: str, tmp_path: Path) -> None:
    """On a screen 360 pixels wide nothing but the tables' own boxes scrolls sideways, and no word is cut."""
    frame = tmp_path / "frame.html"
    # The page forbids to be framed and runs no script, so its text is measured in a document of its own.
    dom = _run(tmp_path / "profile", "--dump-dom", f"{url}/")
    frame.write_text(
        '<!DOCTYPE html><iframe id="phone" style="width:360px;height:640px;border:0"></iframe><script>'
        f"const page = {_script_string(dom)}; const phone = document.getElementById('phone');"
        "phone.onload = () => { const root = phone.contentDocument.documentElement;"
        "const lines = [...root.querySelectorAll('th[scope=col]')].filter(c => !c.textContent.includes(' '))"
        ".map(c => { const r = phone.contentDocument.createRange(); r.selectNodeContents(c);"
        " return r.getClientRects().length; });"
        "document.title = root.scrollWidth + ' of ' + root.clientWidth + ', lines ' + Math.max(...lines); };"
        "phone.srcdoc = page;</script>",
        encoding="utf-8",
    )
    measured = _run(tmp_path / "profile", "--virtual-time-budget=5000", "--dump-dom", frame.as_uri())
    title = re.search(r"<title>(\d+) of (\d+), lines (\d+)</title>", measured)
    assert title is not None, measured[:500]
    assert 300 < int(title[2]) <= 360  # a scroll bar takes some of it
    assert int(title[1]) <= int(title[2])
    assert int(title[3]) == 1, "a header of one word is broken in the middle"


def _script_string(text: str) -> str:
    """A JavaScript string that may stand inside <script>."""
    escaped = "".join(c if c.isalnum() else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else "?" for c in text)
    return f'"{escaped}"'
