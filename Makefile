# SPDX-License-Identifier: Apache-2.0
# The front door. Meson does the work in build/; `make help` says what there is.
BUILD := build
SETUP := bash tools/setup.sh
.PHONY: all setup demo demo-pto check proof bench fuzz exports install clean help

all: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet product
	@test ! -x $(BUILD)/tilery || echo "built: $(BUILD)/tilery (try $(BUILD)/tilery --help)"

setup:
	@$(SETUP) build

$(BUILD)/build.ninja:
	@$(SETUP) build
	@mkdir -p $(BUILD)
	@meson setup $(BUILD) $(MESON_FLAGS) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

demo: all
	@$(SETUP) demo || echo "demo: going on without npm; a generated model will stand in"
	@python3 tools/demo/demo.py $(BUILD)

demo-pto: all
	@$(SETUP) demo || echo "demo-pto: going on without npm; a generated model will stand in"
	@python3 tools/demo/pto.py $(BUILD)

check:
	@$(SETUP) build check
	@python3 tools/check.py $(ONLY)

proof:
	@$(SETUP) build check proof
	@python3 tools/proof.py $(ONLY)

bench: all
	@$(SETUP) bench || echo "bench: going on without nginx and curl; what needs them is skipped"
	@$(BUILD)/tilery bench all

fuzz:
	@$(SETUP) build check
	@python3 tools/fuzz.py

exports: all
	@python3 tools/check.py --write-exports

install: all
	@meson install -C $(BUILD) --no-rebuild

clean:
	@rm -rf $(BUILD)

help:
	@echo "make           install what is missing (Debian packages), build everything into build/"
	@echo "make demo      the whole way on a real model: import, serve, fetch, multiply, report"
	@echo "make demo-pto  a layer and the attention heads of a real model, by the PTO machine and by oneDNN"
	@echo "make check     every test; at most 8 minutes on two cores. ONLY='layers exports' picks some,"
	@echo "               tools/check.py --list names them"
	@echo "make proof     the long runs; the log goes to docs/internals/proofs.md"
	@echo "make bench     every benchmark (build/tilery bench --help for one group, or JSON)"
	@echo "make fuzz      libFuzzer, FUZZ_SECONDS each (60)"
	@echo "make exports   write tests/expected/exports.txt anew after adding a public function"
	@echo "make install   into the prefix given by MESON_FLAGS=--prefix=DIR (default /usr/local)"
	@echo "make clean     remove build/"
