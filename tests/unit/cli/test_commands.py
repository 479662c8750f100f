"""The commands: what they print, and how they end."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exporter import __version__
from exporter.cli import main
from exporter.demo import control


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_help_and_version() -> None:
    """Every command is listed."""
    text = _run("--help").output
    assert all(command in text for command in ("run", "check", "render", "lint", "demo"))
    assert __version__ in _run("--version").output


def test_a_good_configuration_is_confirmed_and_a_bad_one_told(tmp_path: Path) -> None:
    """Exit code 2 and every fault with its line; files it names are read, too."""
    file = tmp_path / "exporter.yml"
    file.write_text("clusters: [{name: c, workers: [{name: w, rest: 'http://h:1'}]}]\n")
    good = _run("check", "config", str(file))
    assert (good.exit_code, good.output) == (0, f"{file}: 1 worker(s) in 1 cluster(s), no error.\n")
    file.write_text("clusters: [{name: c, workers: [{name: w, rest: 'http://h:1', proprties: /x}]}]\nlisten: ':x'\n")
    bad = _run("check", "config", str(file))
    assert bad.exit_code == 2
    assert f"{file}:1: clusters[0].workers[0].proprties: unknown key. Did you mean properties?" in bad.output
    assert f"{file}:2: listen:" in bad.output
    file.write_text("clusters: [{name: c, workers: [{name: w, rest: 'http://h:1', properties: /nonexistent}]}]\n")
    assert "properties of w" in _run("check", "config", str(file)).output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to watch"),
        (("--config", "x", "--log", "y"), "exclude each other"),
        (("--log", "y", "--listen", "nowhere:x"), "--listen"),
        (("--config", "/nonexistent"), "cannot be read"),
        (("--rest", "ftp://x"), "--rest"),
        (("--jmx", "nonsense"), "JMX address"),
        (("--log", "x", "--worker", "\udcff"), "cannot be printed"),
    ],
)
def test_run_refuses_what_makes_no_sense(arguments: tuple[str, ...], said: str) -> None:
    """One sentence, exit code 2."""
    result = _run("run", *arguments)
    assert (result.exit_code, said in result.output) == (2, True), result.output


def test_the_bundle_is_written_and_passes_its_own_lint(tmp_path: Path) -> None:
    """And what was spoilt by hand does not."""
    written = _run("render", str(tmp_path / "out"))
    assert written.exit_code == 0
    files = [Path(line) for line in written.output.splitlines()]
    assert all(file.exists() for file in files)
    assert _run("lint", str(tmp_path / "out")).output == "no problem found\n"
    rules = tmp_path / "out" / "prometheus" / "rules.yml"
    rules.write_text(rules.read_text().replace("kafka_connect_signature_algorithm_mismatch", "kafka_connect_mismatch"))
    spoilt = _run("lint", str(rules))
    assert spoilt.exit_code == 1
    assert "kafka_connect_mismatch" in spoilt.output


def test_settings_are_pairs_and_known(tmp_path: Path) -> None:
    """`--set` without = is a usage error, an unknown setting lists the known ones."""
    assert _run("render", str(tmp_path), "--set", "x").exit_code == 2
    unknown = _run("render", str(tmp_path), "--set", "x=1")
    assert (unknown.exit_code, "replica_labels" in unknown.output) == (2, True)


def test_lint_tells_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Even JSON as deep as it is senseless."""
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    result = _run("lint", str(deep))
    assert (result.exit_code, "nested too deeply" in result.output) == (1, True)


def test_mending_needs_a_running_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """It talks to the demo's control page and prints the answer."""
    monkeypatch.setattr(control, "mend", lambda port: f"mended at {port}")
    assert _run("demo", "--control-port", "1234", "mend").output == "mended at 1234\n"
    monkeypatch.undo()
    assert _run("demo", "--control-port", "1", "mend").exit_code == 2
