#!/bin/sh
# Shows on a machine with a real GPU that a card is open to its holder only. The
# machine needs root, and neither a network nor Rust: build elsewhere and bring the
# folder target/gpu-host-check.
#   scripts/gpu-host-check.sh build
#   scripts/gpu-host-check.sh run
set -eu
cd "$(dirname "$0")/.."
program=target/gpu-host-check/check

case ${1:-run} in
build)
    # The last line that names the test's program.
    built=$(cargo test -p agent --test gpu_host --no-run 2>&1 | sed -n 's/.*(\(target[^)]*gpu_host[^)]*\)).*/\1/p' | tail -1)
    [ -n "$built" ] || {
        echo "the check could not be built: run cargo test -p agent --test gpu_host --no-run" >&2
        exit 1
    }
    mkdir -p "${program%/*}"
    strip -o "$program" "$built"
    echo "built $program from $built"
    ;;
run)
    [ -x "$program" ] || {
        echo "$program is missing: build it with scripts/gpu-host-check.sh build" >&2
        exit 2
    }
    exec "$program" --ignored --nocapture --test-threads 1
    ;;
*)
    echo "unknown command $1; use build or run" >&2
    exit 2
    ;;
esac
