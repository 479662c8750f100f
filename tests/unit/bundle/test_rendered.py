"""The rendered copies in the repository; `python tests/unit/bundle/test_rendered.py` writes them anew."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from exporter.bundle.files import sources
from exporter.bundle.render import render


def copies(bundle: Path) -> dict[Path, Path]:
    """Rendered file → its copy in the repository: dashboards beside their sources, everything else beside the alerts."""
    places: dict[Path, Path] = {}
    for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
        name = path.relative_to(bundle)
        part = (
            sources("dashboards") / "rendered" / name.name
            if name.parts[0] == "grafana"
            else sources("alerts") / "rendered" / name
        )
        places[path] = part
    return places


def test_copies_are_fresh(bundle: Path) -> None:
    """alerts/rendered and dashboards/rendered hold exactly what `render` writes now, and nothing else."""
    places = copies(bundle)
    there = {
        path
        for folder in (sources("alerts"), sources("dashboards"))
        for path in (folder / "rendered").rglob("*")
        if path.is_file()
    }
    assert there == set(places.values()), "python tests/unit/bundle/test_rendered.py"
    for path, copy in places.items():
        assert copy.read_text() == path.read_text(), f"{copy} is stale: python tests/unit/bundle/test_rendered.py"


def rewrite() -> None:
    """Write the copies anew."""
    with tempfile.TemporaryDirectory() as folder:
        render(Path(folder))
        for part in (sources("alerts"), sources("dashboards")):
            shutil.rmtree(part / "rendered", ignore_errors=True)
        for path, copy in copies(Path(folder)).items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


if __name__ == "__main__":
    rewrite()
