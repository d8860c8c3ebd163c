# Two commands on a fresh machine: `make demo` and `make test`. Both set up .venv first.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: page page-assets demo test test-other-cpus test-other-cpus-quick test-minimum test-python mutants test-slow test-faults golden bench bench-full bench-gpu system-packages check lint types contracts site report setup clean

demo: setup
	@$(BIN)/spacil train spacil --task Hopper-v4 --demo-every 20 --preset fast

# Two processes, a file of tests at a time in each: half the time on two cores.
PARALLEL = -n 2 --dist loadfile

test: setup
	$(BIN)/python -m pytest $(PARALLEL)

# The same tests as other processors would run them: other vector widths in torch, numpy's BLAS and
# the C library's mathematics give other last bits. `make test-other-cpus TESTS=tests/nets` runs some.
# COMPUTING is where numbers are computed and compared; the other folders test files, words, processes
# and the simulator (whose bits these settings do not change), and need the long way only now and then.
TESTS ?= tests
COMPUTING = $(addprefix tests/, functional smoothness nets engine learning measuring \
	envs/test_rollout.py envs/test_episodes.py faults/test_training.py integration/test_airl.py \
	integration/test_bit_equality.py demos/test_common_frame.py demos/test_check.py test_theory.py)

test-other-cpus: setup
	ATEN_CPU_CAPABILITY=avx2 OPENBLAS_CORETYPE=Haswell $(BIN)/python -m pytest $(PARALLEL) $(TESTS)
	ATEN_CPU_CAPABILITY=default OPENBLAS_CORETYPE=Haswell MKL_CBWR=COMPATIBLE \
		GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F $(BIN)/python -m pytest $(PARALLEL) $(TESTS)

test-other-cpus-quick:
	$(MAKE) test-other-cpus TESTS='$(COMPUTING)'

# The core with the lowest versions that pyproject.toml allows, in an environment of its own. Without
# the optional packages: what reads their formats is not tested here.
MINIMUM = .venv-minimum
CORE = $(addprefix tests/, functional smoothness nets engine \
	test_storage.py runs learning envs/test_step_exactness.py envs/test_gymnasium_env.py \
	demos/test_bundled.py demos/test_file.py integration/test_golden_traces.py)

test-minimum: setup
	test -x $(MINIMUM)/bin/python || $(PYTHON) -m venv $(MINIMUM)
	$(MINIMUM)/bin/python -m pip install --quiet --no-compile \
		$$($(BIN)/python tests/support/lowest_versions.py) pytest pytest-timeout hypothesis imageio
	$(MINIMUM)/bin/python -m pip install --quiet --no-deps -e .
	$(MINIMUM)/bin/python -m pip freeze | grep -iE '^(torch|numpy|mujoco|gymnasium|safetensors|tyro|rich|tensorboard|matplotlib)=='
	$(MINIMUM)/bin/python -m pytest $(CORE)

# The tests under another interpreter: make test-python PYTHON=python3.13 TESTS=tests/nets
OTHER = .venv-$(notdir $(PYTHON))

test-python:
	test -x $(OTHER)/bin/python || $(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(OTHER)/bin/python -m pytest $(TESTS)

# Would a test notice? Changes to the code, one at a time, against the quick tests (docs/reliability.md).
mutants: setup
	$(BIN)/python tests/support/mutants.py --count 300

test-slow: setup
	$(BIN)/python -m pytest -m slow --timeout 3600

# Every fault, kill and repeat campaign; an hour on two cores. `make test` holds the quick half.
test-faults: setup
	$(BIN)/python -m pytest tests/faults tests/integration tests/learning tests/runs \
		tests/test_storage.py tests/test_security.py tests/envs \
		-m 'slow or not slow' --deselect tests/integration/test_learning.py --timeout 3600
	$(BIN)/python tests/support/kill_campaign.py --trials 540
	$(BIN)/python tests/support/sequences.py --sequences 2000
	$(BIN)/python benchmarks/soak.py

# After a change of results that is meant: write down this platform's new numbers.
golden: setup
	$(BIN)/python tests/support/golden_traces.py

# Within 10 minutes on an idle machine; `make bench-full` is the rest. Both write docs/results/speed.*
BENCH = $(BIN)/python benchmarks
SPEED = --json docs/results/speed.json

bench: setup
	$(BENCH)/simulation.py --seconds 1 --repeats 5 $(SPEED)
	$(BENCH)/iteration.py --algorithms gail spacil --repeats 5 $(SPEED)
	$(BENCH)/penalty_cost.py --tasks Hopper-v4 --variants policy both --rounds 5 $(SPEED)
	$(BENCH)/growth.py --quick --repeats 2 $(SPEED)
	$(BENCH)/startup.py --repeats 3 --expert-task none $(SPEED)
	$(BENCH)/tables.py

bench-full: setup
	$(BENCH)/simulation.py --envs 8 16 32 50 64 --threads 1 2 --others sync async envpool $(SPEED)
	$(BENCH)/iteration.py --algorithms gail spacil trpo --repeats 7 $(SPEED)
	$(BENCH)/penalty_cost.py $(SPEED)
	$(BENCH)/growth.py $(SPEED)
	$(BENCH)/startup.py $(SPEED)
	$(BENCH)/time_to_smooth.py $(SPEED)
	$(BENCH)/peer.py --rounds 15 $(SPEED)
	$(BENCH)/peer.py --until 0.95 --seeds 0 1 2 3 4 --kinds dummy --variants default fast $(SPEED)
	$(BENCH)/estimators.py
	$(BENCH)/tables.py

bench-gpu: setup
	$(BENCH)/gpu_update.py --device cuda cpu $(SPEED)
	$(BENCH)/tables.py

check: lint types contracts test

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contracts: setup
	$(BIN)/lint-imports

# What tests draw with, and the browser that they open pages in; without it they are skipped, with
# this reason. Only root can install it.
HAS_OPENGL = ldconfig -p | grep -q -e libEGL.so.1 -e libOSMesa.so
HAS_CHROMIUM = command -v chromium chromium-browser >/dev/null
APT_INSTALL = test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends

system-packages:
	@$(HAS_OPENGL) || { $(APT_INSTALL) libegl1; } >/dev/null 2>&1 \
		|| echo 'no OpenGL here, tests that draw are skipped: apt install libegl1'
	@$(HAS_CHROMIUM) || { $(APT_INSTALL) chromium; } >/dev/null 2>&1 \
		|| echo 'no browser here, tests that open pages are skipped: apt install chromium'

# The documentation as a site that opens offline: build/website/site/index.html
site: setup
	$(BIN)/python website/build.py

# The live pages of README, with policies that are trained here: build/page/*.html. `make site` takes them in.
page: setup
	$(BIN)/python website/live_pages.py

# Every experiment of docs/results on one page that opens offline: build/report.html
report: setup
	mkdir -p build
	$(BIN)/python experiments/report.py docs/results -o build/report.html

# MuJoCo for browsers, from npm into the package's assets: after a change of the version.
MUJOCO_WASM = 3.14.0
PAGE_ASSETS = src/spacil/film/assets

page-assets:
	mkdir -p build/mujoco
	npm pack --silent --pack-destination build/mujoco @mujoco/mujoco@$(MUJOCO_WASM)
	tar -xzf build/mujoco/mujoco-mujoco-$(MUJOCO_WASM).tgz -C build/mujoco
	gzip -9 -n -c build/mujoco/package/mujoco.wasm > $(PAGE_ASSETS)/mujoco.wasm.gz
	sed '/^export default loadMujoco;$$/d' build/mujoco/package/mujoco.js > $(PAGE_ASSETS)/mujoco.js

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("spacil needs Python 3.11 or newer; set PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .venv-* build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
