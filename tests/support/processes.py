"""Programs that tests start."""

from __future__ import annotations

import shutil


def tool(name: str, package: str) -> str:
    """A program's path; a missing one fails the test with the way to get it."""
    found = shutil.which(name)
    assert found is not None, f"{name} is missing: apt-get install {package}"
    return found


def bound(*command: str) -> list[str]:
    """A command that the kernel kills when the test run ends, even if that is killed itself."""
    return [tool("setpriv", "util-linux"), "--pdeathsig", "KILL", "--", *command]
