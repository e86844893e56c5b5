#!/bin/sh
# Servers of the release before still run while the schema is migrated. Builds
# the newest tagged release and runs its own smoke test on the schema of this
# tree. Before the second release there is none, and our own takes its place.
set -eu
cd "$(dirname "$0")/.."

# A release is not its own predecessor.
tag=$(git tag --list 'v*' --sort=-v:refname --no-contains HEAD | head -n 1)
if [ -z "$tag" ]; then
    echo "no earlier release is tagged: this tree's own smoke test runs instead"
    cargo build --quiet --bin gpuaasd
    exec cargo xtask smoke "${CARGO_TARGET_DIR:-target}/debug/gpuaasd" scripts/smoke.py
fi

tree=$PWD/target/previous-release/tree
echo "building $tag"
git worktree remove --force "$tree" 2>/dev/null || true
git worktree prune
git worktree add --quiet --force --detach "$tree" "$tag"
trap 'git worktree remove --force "$tree"' EXIT
(cd "$tree" && CARGO_TARGET_DIR="$PWD/../build" cargo build --quiet --locked --bin gpuaasd)
cargo xtask smoke target/previous-release/build/debug/gpuaasd "$tree/scripts/smoke.py"
