# Two commands do all the set-up on a machine that has only Python (3.11 or newer) and make: `make lab` and `make test`.
# What is installed goes into .venv, once per change of pyproject.toml; after that neither command needs the network.

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

.PHONY: help lab test format bench build clean
help: ## say what can be made
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile

lab: $(VENV)/lab ## open the first notebook in JupyterLab; HEADLESS=1 executes it here instead
ifeq ($(filter-out 0,$(HEADLESS)),)
	$(RUN) -m jupyterlab $(LAB)
else
	$(RUN) tests/run_notebook.py $(NOTEBOOK)
endif

test: $(VENV)/dev ## everything that CI runs
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	rm -rf $(VENV)/home
	env -u AGENTKIT_MODEL AGENTKIT_HOME=$(CURDIR)/$(VENV)/home $(RUN) -m pytest --nbval tests notebooks

format: $(VENV)/dev ## mend what ruff can mend
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

bench: $(VENV)/dev ## measure; print tables
	@for script in $(sort $(wildcard tests/benchmarks/*.py)); do $(RUN) $$script || exit 1; done

build: $(VENV)/dev ## the wheel and the source archive, in dist/
	$(RUN) -m pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## remove what was made
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache

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
