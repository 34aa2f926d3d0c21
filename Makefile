# Frontdesk: two commands do all set-up, `make run` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
EVALS := $(VENV)/.installed-evals
PLAYGROUND := tests/playground/node_modules
# The lists are whole, so nothing is resolved: where pip resolved, a new release of a package that another one
# names with an extra stopped the installation (pip 23).
INSTALL := install --quiet --disable-pip-version-check --no-deps

# Several workers share the cores: numpy's threads would wait for each other.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Tests wait for servers, browsers and timers more than half of the time: five workers keep two cores busy.
WORKERS ?= 5
# Every worker imports everything: where byte code may not be kept, each compiles it in each run.
KEPT_CODE := PYTHONDONTWRITEBYTECODE=

# Licences, as packages name them, of what is installed to run (docs/dependencies.md).
LICENCES := MIT;MIT License;MIT-0;Apache-2.0;Apache Software License;BSD License;BSD-2-Clause;BSD-3-Clause;3-Clause BSD License;PSF-2.0;Python Software Foundation License;MPL-2.0 AND MIT;Mozilla Public License 2.0 (MPL 2.0);LGPL-3.0-only;GNU Lesser General Public License v2 or later (LGPLv2+);Apache-2.0 AND MIT;Apache-2.0 AND BSD-2-Clause;Apache-2.0 OR BSD-2-Clause;Apache-2.0 OR BSD-3-Clause;MIT OR Apache-2.0;MIT AND PSF-2.0;BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0
# Hashes of packages, fingerprints of replies and pictures look like keys.
NO_SECRETS := ^requirements.*\.txt$$|package-lock\.json$$|^tests/evals/recorded/|\.(png|svg|js|css)$$|^infra/secrets\.json$$

.PHONY: run test sweeps attack check format evals bench profile chaos train infra image audit texts size map lock clean help

help: ## Say what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

run: $(RUN) ## Serve the sample company on http://127.0.0.1:3978
	@$(BIN)/python -m bot serve --sample

test: $(DEV) $(PLAYGROUND)/.installed ## Run all tests; no account, no network
	@$(ONE_THREAD) $(KEPT_CODE) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

sweeps: $(DEV) ## Run the long sweeps, which make test runs in small: events, kills, attacks
	@$(ONE_THREAD) $(KEPT_CODE) $(BIN)/python -m pytest --sweeps -n 2 --dist loadgroup $(ARGS)

attack: $(EVALS) ## Attack it at full size: permissions, hostile text, personal data, tokens, bodies, uploads
	@failed=0; $(BIN)/python -m tests.sweeps.hostile.size || failed=1; \
	$(ONE_THREAD) $(KEPT_CODE) $(BIN)/python -m pytest --attack -n 2 --dist loadgroup $(ARGS) || failed=1; \
	$(ONE_THREAD) $(KEPT_CODE) $(BIN)/python -m tests.evals.attacks_eval || failed=1; \
	$(ONE_THREAD) $(KEPT_CODE) $(BIN)/python -m tests.evals.payloads_eval || failed=1; \
	$(ONE_THREAD) $(KEPT_CODE) $(BIN)/python -m tests.evals.lookalikes_eval || failed=1; \
	$(ONE_THREAD) $(KEPT_CODE) $(BIN)/python -m tests.evals.masking_eval || failed=1; \
	exit $$failed

check: $(DEV) ## Format, lint, types, import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@if [ -x $(BIN)/hadolint ]; then $(BIN)/hadolint Dockerfile; else echo "hadolint has no build for this machine: Dockerfile not linted"; fi

format: $(DEV) ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

evals: $(EVALS) ## Measure answers on labelled questions; writes docs/evaluation.md
	@$(BIN)/python -m tests.evals.run $(ARGS)
	@test -n "$(ARGS)" || $(BIN)/python -m tests.evals.operator_eval

bench: $(DEV) ## Measure speed as ratios; writes docs/performance.md
	@$(BIN)/python -m tests.bench.run $(ARGS)

profile: $(DEV) ## Draw flame graphs of one question and of a hundred into .build
	@$(BIN)/python -m tests.bench.flame_graphs $(ARGS)

chaos: $(DEV) ## Kill servers while questions are asked; writes docs/chaos.md
	@$(BIN)/python -m tests.sweeps.chaos.run $(ARGS)

train: $(EVALS) ## Train the router's classifier and the gate again
	@$(BIN)/python -m bot.answering.routing.classifier_training
	@$(BIN)/python -m tests.evals.run --train

infra: $(VENV)-infra/.installed ## Look over what describes Frontdesk on Azure (docs/azure.md)
	@$(VENV)-infra/bin/checkov --directory infra/azure --framework bicep --compact --quiet --skip-download

image: ## Build the image by buildah, without a daemon, and try it (needs root; docs/docker.md)
	@infra/build_image.sh

audit: $(RUN) $(VENV)-audit/.installed ## Look for known vulnerabilities, licences not allowed and secrets (needs a network)
	@failed=0; \
	$(VENV)-audit/bin/pip-audit --strict --requirement requirements.txt --require-hashes --disable-pip --progress-spinner off || failed=1; \
	$(VENV)-audit/bin/pip-licenses --python $(BIN)/python --from=mixed --allow-only='$(LICENCES)' \
	  --packages $$(sed -n 's/^\([A-Za-z0-9_.-]*\)==.*/\1/p' requirements.txt) >/dev/null || failed=1; \
	$(VENV)-audit/bin/detect-secrets-hook --baseline infra/secrets.json $$(git ls-files | grep -vE '$(NO_SECRETS)') || \
	  test $$? -eq 3 || failed=1; \
	exit $$failed

texts: $(DEV) ## Gather the texts that people read, merge them into each language, count what is untranslated
	@$(BIN)/python -m tests.structure.texts

size: $(DEV) ## Count files, lines, protocols and the longest of each room
	@$(BIN)/python -m tests.structure.size

map: $(DEV) ## Print the rooms and who imports whom
	@$(BIN)/python -m tests.structure.map

lock: $(DEV) ## Resolve pyproject.toml and requirements-*.in into exact, hashed requirements*.txt
	@for source in pyproject.toml requirements-dev.in requirements-evals.in requirements-infra.in requirements-audit.in; do \
	  $(BIN)/uv pip compile $$source -o $$(echo $${source%.*} | sed 's/pyproject/requirements/').txt --universal \
	    --generate-hashes --python-version 3.11 --quiet || exit 1; done

clean: ## Remove what was made; keeps data/
	rm -rf $(VENV) $(VENV)-infra $(VENV)-audit $(PLAYGROUND) .build .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Frontdesk needs Python 3.11 or newer; name one: make run PYTHON=python3.12" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(RUN): requirements.txt | $(VENV)/bin/python
	@echo "Installing what Frontdesk needs (once, about a minute)"
	@$(BIN)/python -m pip $(INSTALL) -r requirements.txt
	@touch $@

$(DEV): requirements-dev.txt $(RUN)
	@echo "Installing what the tests need (once)"
	@$(BIN)/python -m pip $(INSTALL) -r requirements-dev.txt
	@touch $@

$(EVALS): requirements-evals.txt $(DEV)
	@echo "Installing what measuring needs (once)"
	@$(BIN)/python -m pip $(INSTALL) -r requirements-evals.txt
	@touch $@

$(VENV)-infra/.installed: requirements-infra.txt
	@$(PYTHON) -m venv $(VENV)-infra
	@echo "Installing what looks over the infrastructure (once)"
	@$(VENV)-infra/bin/python -m pip $(INSTALL) -r requirements-infra.txt
	@touch $@

$(VENV)-audit/.installed: requirements-audit.txt
	@$(PYTHON) -m venv $(VENV)-audit
	@echo "Installing what the audit needs (once)"
	@$(VENV)-audit/bin/python -m pip $(INSTALL) -r requirements-audit.txt
	@touch $@

# Microsoft's own client for the Teams tests. Without its key it reports nothing to anybody.
$(PLAYGROUND)/.installed: tests/playground/package-lock.json
	@if ! command -v npm >/dev/null; then \
	  echo "No Node.js here: the tests with Microsoft's Agents Playground are left out (Node 18 or newer, and npm)"; \
	elif echo "Installing Microsoft's Agents Playground for the Teams tests (once, 15 MB)"; \
	  npm ci --prefix tests/playground --ignore-scripts --no-audit --no-fund --loglevel=error; then \
	  echo '{"aiKey":""}' > $(PLAYGROUND)/@microsoft/m365agentsplayground/dist/server/config.json && touch $@; \
	else \
	  echo "It could not be installed: the tests with it are left out"; test -z "$$CI"; \
	fi
