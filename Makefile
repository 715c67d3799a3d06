# Verbs for people. Each is a plain command too: see CONTRIBUTING.md.
PYTHON ?= python3
PORT ?= 8000
PY := .venv/bin/python
VAR := $(or $(VAR_DIR),var)
MODELS := $(or $(MODELS_DIR),$(VAR)/models)
FETCHED := $(MODELS)/.$(notdir $(or $(ASR_MODEL),base)).fetched
MO := $(patsubst %.po,%.mo,$(wildcard locale/*/LC_MESSAGES/*.po))
export PORT

.PHONY: install run test test-postgres faults faults-long check bench
.DELETE_ON_ERROR:

install: .venv/.runtime $(FETCHED) $(MO) $(VAR)/.migrated
	@:

run: install
	@exec $(PY) manage.py runserver

test: install .venv/.dev
	@.ci/debian
	@$(PY) -m pytest $(ARGS)

test-postgres: install .venv/.dev
	@.ci/debian
	@$(PY) -m tests.postgres $(PY) -m pytest $(ARGS)

faults: install .venv/.dev
	@.ci/debian
	@$(PY) -m tests.faults $(ARGS)

faults-long: install .venv/.dev
	@.ci/debian
	@$(PY) -m tests.faults --long $(ARGS)

check: install .venv/.dev
	@PATH="$(CURDIR)/.venv/bin:$$PATH" .ci/check

bench: install .venv/.dev
	@$(PY) -m tests.bench $(ARGS)

.venv/.runtime: pyproject.toml constraints.txt .ci/venv.py
	@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON) here. Install Python 3.11 or newer, or name it: make install PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) .ci/venv.py $@ .

.venv/.dev: pyproject.toml constraints.txt .ci/venv.py | .venv/.runtime
	@$(PYTHON) .ci/venv.py $@ '.[dev]'

# Without a source the model is left for later; a wrong setting or a folder that cannot be written stops here.
$(FETCHED): inference/models.toml | .venv/.runtime
	@folder=$$($(PY) manage.py models fetch --optional) && { [ -z "$$folder" ] || touch $@; }

%.mo: %.po | .venv/.runtime
	@.ci/step "Translation $(word 2,$(subst /, ,$@))" .venv/bin/pybabel compile --input-file $< --output-file $@

$(VAR)/.migrated: $(wildcard apps/*/migrations/0*.py) | .venv/.runtime
	@.ci/step "Database" $(PY) manage.py migrate --no-input
	@touch $@
