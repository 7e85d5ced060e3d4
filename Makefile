# SPDX-License-Identifier: Apache-2.0
# The front door. Meson does the work in build/; see README.md for what each target is.
BUILD := build
.PHONY: all check clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD)

check: all
	python3 tools/generate.py --check
	python3 tools/run_tests.py $(BUILD)

clean:
	rm -rf $(BUILD)
