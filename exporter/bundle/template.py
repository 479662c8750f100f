"""Jinja2 as the bundle uses it: `<< value >>`, `<% statement %>`, `<# comment #>`.

`{{ }}` belongs to Prometheus and Grafana, `[[ ]]` would eat the brackets of a range selector. An undefined name is an
error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from exporter.connect import remedies
from exporter.connect.reasons import REASONS
from exporter.errors import BundleError

MACROS = "macros.j2"
"""File beside the alerts whose macros every text of the bundle can use as `k.NAME(…)`."""


class Templates:
    """Renders texts with the settings and the words of `reasons` and `remedies`.

    Args:
        folder: where `macros.j2` and whole-file templates are.
        settings: resolved settings; see `settings.resolve`.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        # Output is YAML, JSON and PromQL, never HTML: escaping would break it.
        self._environment = Environment(  # noqa: S701
            loader=FileSystemLoader(folder),
            undefined=StrictUndefined,
            variable_start_string="<<",
            variable_end_string=">>",
            block_start_string="<%",
            block_end_string="%>",
            comment_start_string="<#",
            comment_end_string="#>",
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        # Jinja2's own `tojson` is HTML-safe: it writes `>` as \u003e.
        self._environment.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
        self._environment.globals.update(settings)
        self._environment.globals["reasons"] = REASONS
        self._environment.globals["remedies"] = remedies
        self._prefix = f"<% import '{MACROS}' as k with context %>"

    def text(self, source: str, where: str) -> str:
        """Render one text of a data file.

        Args:
            source: the text.
            where: file and item, for the error.

        Raises:
            BundleError: the text is not a template, or names something unknown.
        """
        try:
            return self._environment.from_string(self._prefix + source).render().strip()
        except TemplateError as error:
            raise BundleError(f"{where} cannot be rendered: {error}.") from error

    def file(self, name: str, **values: object) -> str:
        """Render a whole file of the folder.

        Raises:
            BundleError: as `text`.
        """
        try:
            return self._environment.get_template(name).render(**values)
        except TemplateError as error:
            raise BundleError(f"{name} cannot be rendered: {error}.") from error
