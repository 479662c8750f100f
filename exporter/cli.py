"""The commands: parse, call, print; nothing else."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click

from exporter import __version__, log_output
from exporter.errors import ExporterError


class _Commands(click.Group):
    """Turns this program's errors into one sentence and exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ExporterError as error:
            click.echo(f"kafka-connect-exporter: {error}", err=True)
            sys.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="kafka-connect-exporter")
def main() -> None:
    """Watch Kafka Connect's signed internal requests (KIP-507): metrics, alerts, cause and remedy."""


@main.command()
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), metavar="FILE", help="The exporter's YAML file."
)
@click.option("--jmx", metavar="HOST:PORT", help="JMX address of one worker.")
@click.option("--rest", metavar="URL", help="REST URL of one worker.")
@click.option(
    "--log", "logs", multiple=True, metavar="PATH", help="Log file of one worker, or a glob; may be repeated."
)
@click.option("--cluster", metavar="NAME", help="Label connect_cluster of that worker.  [default: default]")
@click.option("--worker", metavar="NAME", help="Label worker.  [default: host of --jmx/--rest, else this host's name]")
@click.option("--listen", metavar="HOST:PORT", help="Where to serve.  [default: 0.0.0.0:9507]")
@click.option(
    "--state", type=click.Path(path_type=Path), metavar="DIR", help="Where positions and folded logs are kept."
)
@click.option("--log.level", "log_level", type=click.Choice(log_output.LEVELS), default="info", show_default=True)
@click.option("--log.format", "log_format", type=click.Choice(["logfmt", "json"]), default="logfmt", show_default=True)
def run(  # noqa: PLR0917 - one argument per option
    config_file: Path | None,
    jmx: str | None,
    rest: str | None,
    logs: tuple[str, ...],
    cluster: str | None,
    worker: str | None,
    listen: str | None,
    state: Path | None,
    log_level: str,
    log_format: log_output.LogFormat,
) -> None:
    """Run the exporter, from a file or for one worker."""
    from exporter.app import Exporter  # noqa: PLC0415 - commands that need no server start fast
    from exporter.config import Config, from_arguments, load, values  # noqa: PLC0415
    from exporter.web.serve import serve  # noqa: PLC0415

    log_output.configure(log_level, log_format)
    try:
        address = values.listen(listen) if listen is not None else None
    except ValueError as error:
        raise click.UsageError(f"--listen: {error}") from error
    if config_file is not None:
        if jmx or rest or logs or cluster or worker:
            raise click.UsageError("--config and --jmx/--rest/--log/--cluster/--worker exclude each other")

        def read(file: Path = config_file) -> Config:
            """The file with what the command line says over it, at the start and at each reload."""
            return load(file).override(listen=address, state=state)

        config, load_again = read(), read
    else:
        if not (jmx or rest or logs):
            raise click.UsageError("say what to watch: --config FILE, or at least one of --jmx, --rest, --log")
        load_again = None
        config = from_arguments(
            jmx=jmx, rest=rest, logs=logs, cluster=cluster, worker=worker, listen=address, state=state
        )
    exporter = Exporter(config, load_again)

    def reload(*_: object) -> None:
        def quietly() -> None:
            with contextlib.suppress(ExporterError):  # said in the log by reload itself
                exporter.reload()

        threading.Thread(target=quietly, name="reload").start()

    signal.signal(signal.SIGHUP, reload)
    exporter.start()
    try:
        serve(exporter, config.listen)
    finally:
        exporter.stop()


@main.group()
def check() -> None:
    """Validate configurations."""


@check.command("config")
@click.argument("file", type=click.Path(path_type=Path))
def check_config(file: Path) -> None:
    """Validate the exporter's own configuration FILE."""
    from exporter.app import validate  # noqa: PLC0415
    from exporter.config import load  # noqa: PLC0415

    config = load(file)
    validate(config)
    workers = sum(len(cluster.workers) for cluster in config.clusters)
    click.echo(f"{file}: {workers} worker(s) in {len(config.clusters)} cluster(s), no error.")


@main.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a setting; may be repeated.")
def render(directory: Path, settings: tuple[str, ...]) -> None:
    """Write dashboards, alert rules and routing into DIRECTORY."""
    from exporter.bundle.render import render as render_bundle  # noqa: PLC0415

    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting}: expected KEY=VALUE")
        pairs[key] = value
    for path in render_bundle(directory, pairs):
        click.echo(path)


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def lint(paths: tuple[Path, ...]) -> None:
    """Check rule files and dashboards, yours or rendered ones: PromQL, known metrics, texts a person on call needs."""
    from exporter.bundle.lint import lint as lint_bundle  # noqa: PLC0415
    from exporter.metrics.table import METRICS  # noqa: PLC0415

    problems = lint_bundle(paths, {metric.name: metric.labels for metric in METRICS})
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        sys.exit(1)
    click.echo("no problem found")


@main.group(invoke_without_command=True)
@click.option("--port", default=9507, show_default=True, help="Where the exporter serves.")
@click.option("--control-port", default=9508, show_default=True, help="Where the demo is controlled.")
@click.pass_context
def demo(ctx: click.Context, port: int, control_port: int) -> None:
    """Watch a simulated pair of workers with a signing-algorithm mismatch to mend."""
    ctx.obj = control_port
    if ctx.invoked_subcommand is None:
        from exporter.demo import main as demo_main  # noqa: PLC0415

        demo_main.run(_serving, listen_port=port, control_port=control_port, echo=click.echo)


@demo.command()
@click.pass_obj
def mend(control_port: int) -> None:
    """Correct the follower's algorithm in the running demo."""
    from exporter.demo import control  # noqa: PLC0415

    click.echo(control.mend(control_port))


@contextlib.contextmanager
def _serving(config_file: Path) -> Iterator[None]:
    """The exporter with this configuration, served from a thread while the block runs."""
    from exporter.app import Exporter  # noqa: PLC0415
    from exporter.config import load  # noqa: PLC0415
    from exporter.web.serve import serving  # noqa: PLC0415

    log_output.configure("warn", "logfmt")
    config = load(config_file)
    exporter = Exporter(config, lambda: load(config_file))
    exporter.start()
    try:
        with serving(exporter, config.listen):
            yield
    finally:
        exporter.stop()
