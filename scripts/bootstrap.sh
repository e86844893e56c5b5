#!/bin/sh
# Installs what this repository needs and the machine lacks (Debian, Ubuntu).
# Says nothing when nothing is missing.
#   scripts/bootstrap.sh            to build and run
#   scripts/bootstrap.sh --test     also to test
#   scripts/bootstrap.sh --guards   also the guards' tools (compiled: minutes)
set -eu
cd "$(dirname "$0")/.."

for_tests=no
for_guards=no
for flag in "$@"; do
    case $flag in
    --test) for_tests=yes ;;
    --guards) for_guards=yes ;;
    *)
        echo "unknown flag $flag; use --test, --guards or both" >&2
        exit 2
        ;;
    esac
done

fail() {
    echo "$1" >&2
    exit 1
}

have() {
    # Servers live in /usr/sbin, which is not on everybody's path.
    command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]
}

have_postgres() {
    have initdb && return
    for initdb in /usr/lib/postgresql/*/bin/initdb; do
        [ -x "$initdb" ] && return
    done
    return 1
}

missing=
need() {
    missing="$missing $*"
}

install_missing() {
    [ -n "$missing" ] || return 0
    have apt-get || fail "missing:$missing; install them with your package manager and run this again"
    if [ "$(id -u)" -eq 0 ]; then
        root=
    elif have sudo; then
        root=sudo
    else
        fail "missing:$missing; as root, run: apt-get install$missing"
    fi
    echo "installing:$missing"
    # Unquoted on purpose: a list of packages, and sudo or nothing.
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@" >/dev/null' sh $missing ||
        fail "apt-get could not install:$missing; its message is above"
}

cargo_tool() {
    have "$1" && return
    echo "compiling $1 $2 (once)"
    # Without optimization they build in a third of the time and run fast enough;
    # one target folder lets them share what they have in common.
    CARGO_TARGET_DIR="$PWD/target/tools" cargo install --quiet --locked --debug "$1@$2"
}

have cargo || fail "cargo is missing; install Rust from https://rustup.rs and run this again"
have cc || need gcc libc6-dev
have make || need make
have git || need git
have_postgres || need postgresql
have node || need nodejs
have npm || need npm
# The shells of simulated nodes run in it.
have bwrap || need bubblewrap
if [ $for_tests = yes ]; then
    have nats-server || need nats-server
    have redis-server || need redis-server
    have chromium || need chromium
    have sshd || need openssh-server
    have ssh || need openssh-client
    [ -x /usr/lib/openssh/sftp-server ] || need openssh-sftp-server
    have pdftotext || need poppler-utils
    python3 -c 'import ensurepip, venv' 2>/dev/null || need python3 python3-venv
fi
install_missing

if [ $for_guards = yes ]; then
    cargo_tool cargo-deny 0.20.2
    cargo_tool cargo-audit 0.22.2
    cargo_tool cargo-machete 0.9.2
    cargo_tool cargo-llvm-cov 0.9.1
    cargo_tool cargo-cyclonedx 0.5.9
    rm -rf target/tools
    set -- "$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-cov
    [ -x "$1" ] || rustup --quiet component add llvm-tools ||
        fail "llvm-tools is missing; run: rustup component add llvm-tools"
fi
