#!/bin/sh
# Runs the tests once with instrumentation and fails below a floor of
# coverage.toml. Arguments go to the test runner.
set -eu
cd "$(dirname "$0")/.."

# Instrumented crates must not mix with the others: cargo cannot tell them apart.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/coverage"
export CARGO_LLVM_COV_SETUP=no
settings=$(cargo llvm-cov show-env --sh --no-cfg-coverage)
eval "$settings"

cargo llvm-cov clean --profraw-only
cargo xtask test "$@"
summary=$CARGO_TARGET_DIR/summary.json
# Tests kill programs; one that dies while it writes leaves a profile that cannot be read.
cargo llvm-cov report --failure-mode all --json --summary-only --output-path "$summary"
cargo xtask coverage "$summary"
