"""Where the bundle's sources are, and reading and writing its files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

import exporter
from exporter.errors import BundleError

Part = Literal["alerts", "dashboards"]


def sources(part: Part, package: Path | None = None) -> Path:
    """The folder with the sources of one part of the bundle.

    An installed wheel carries them inside the package (`_bundle`), a checkout beside it.

    Args:
        part: alerts or dashboards.
        package: folder of the import package; default: this one.

    Raises:
        BundleError: neither place has them.
    """
    folder = package or Path(exporter.__file__).parent
    places = (folder / "_bundle" / part, folder.parent / part)
    for place in places:
        if place.is_dir():
            return place
    raise BundleError(
        f"The sources of {part} are neither in {places[0]} nor in {places[1]}.", "Install kafka-connect-exporter again."
    )


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        BundleError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{path} cannot be read: {error}.") from error


def read_yaml(path: Path) -> object:
    """The content of a YAML file; duplicate keys are errors.

    Raises:
        BundleError: it cannot be read or is not YAML; names the line.
    """
    try:
        content: object = YAML(typ="safe", pure=True).load(read_text(path))
    except YAMLError as error:
        raise BundleError(f"{path} is not valid YAML: {error}") from error
    return content


def write_text(path: Path, text: str) -> Path:
    """Write a file and the folders above it.

    Raises:
        BundleError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BundleError(f"{path} cannot be written: {error}.", "Choose another directory.") from error
    return path
