# SPDX-License-Identifier: Apache-2.0
"""The steps of `make check`; tools/check.py runs them in order."""
