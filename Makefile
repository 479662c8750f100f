# make venv    the virtual environment for development
# make demo    a simulated cluster with a mismatch to mend; needs Python alone
# make check   formatters, types, layers, unit tests, rules                     3 minutes on two cores
# make test    check, and everything on real processes                         15 minutes
# make lab     the same scenario on older versions of Kafka                     40 minutes
# make render  writes dashboards/rendered and alerts/rendered anew
# make lock    writes requirements.lock anew from the newest versions

PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/pytest --durations=20
# What these measure is printed.
REAL := $(PYTEST) -v -s --timeout 600
PROGRAMS := ensurepip:python3-venv java:default-jdk-headless javac:default-jdk-headless mvn:maven prometheus:prometheus promtool:prometheus \
    prometheus-alertmanager:prometheus-alertmanager chromium:chromium chromedriver:chromium-driver
LAB_VERSION := 4.4.0
LAB_OLDER_VERSIONS := 3.9.2 3.4.1 2.8.2

.PHONY: venv demo check test lab render lock clean
.PHONY: programs promtool kafka-jars kafka-jars-older static unit alerts bundle

venv: .venv/dev

.venv/bin/python:
	@if [ "$$(id -u)" -eq 0 ] && ! $(PYTHON) -c 'import ensurepip' 2>/dev/null; then scripts/need ensurepip:python3-venv; fi
	@scripts/need-python $(PYTHON)
	$(PYTHON) -m venv .venv

.venv/dev: .venv/bin/python pyproject.toml requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --retries 5 -c requirements.lock -e '.[dev]'
	@touch $@

.venv/demo: .venv/bin/python pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check --retries 5 -e '.[demo]'
	@touch $@

demo: .venv/demo
	$(BIN)/kafka-connect-exporter demo

lock:
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install -q --disable-pip-version-check '.[dev]'
	build/lock/bin/pip freeze --disable-pip-version-check --exclude kafka-connect-exporter >requirements.lock

# Programs are made sure of before the first test, so that none is skipped for want of one.
programs:
	scripts/need $(PROGRAMS)

promtool:
	scripts/need promtool:prometheus

kafka-jars: .venv/dev
	PYTHONPATH=tests $(BIN)/python -m support.jars $(LAB_VERSION)

kafka-jars-older: .venv/dev
	PYTHONPATH=tests $(BIN)/python -m support.jars $(LAB_VERSION) $(LAB_OLDER_VERSIONS)

check: promtool venv
	@$(MAKE) --no-print-directory static unit alerts bundle

static: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: .venv/dev
	$(PYTEST) -q -n 2 tests/unit

alerts: promtool
	promtool check rules alerts/rendered/prometheus/rules.yml
	promtool test rules alerts/tests/*.yml

# What is rendered and kept in the repository is what the sources render now.
bundle: .venv/dev
	scripts/render --check
	$(BIN)/kafka-connect-exporter lint alerts/rendered dashboards/rendered

render: .venv/dev
	scripts/render

test: programs venv
	@$(MAKE) --no-print-directory kafka-jars check
	LAB_VERSIONS=$(LAB_VERSION) $(REAL) tests/contract tests/browser tests/e2e tests/lab

lab: programs venv
	@$(MAKE) --no-print-directory kafka-jars-older
	LAB_VERSIONS="$(LAB_OLDER_VERSIONS)" $(REAL) tests/lab

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
