#!/bin/sh
# Shows what the agent finds on a machine with a real GPU. Needs no network and no
# Rust: build with `cargo build --release -p agent` elsewhere and bring the binary.
#
#   scripts/gpu-check.sh [path of gpuaas-node]
set -eu

node=${1:-target/release/gpuaas-node}
if [ ! -x "$node" ]; then
    echo "$node is missing: build it with 'cargo build --release -p agent', or name it" >&2
    exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "== $("$node" --version) on $(uname -sr)"
if command -v nvidia-smi >/dev/null 2>&1; then
    echo "== nvidia-smi"
    nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,memory.total,driver_version --format=csv || true
fi
echo "== gpuaas-node doctor"
status=0
"$node" doctor --data-dir "$folder" || status=$?
echo "== gpuaas-node inventory"
"$node" inventory --data-dir "$folder"
echo "== gpuaas-node inventory -o json"
"$node" inventory --data-dir "$folder" -o json

found=$("$node" inventory --data-dir "$folder" -o json | grep -c '"uuid": "GPU-' || true)
echo "== $found GPUs found; doctor ended with $status"
[ "$found" -gt 0 ]
