#!/usr/bin/env bash
# Reads the API documents with the tools that people generate clients with, and
# fails on anything they warn about.
#
#   scripts/check-contract.sh [openapi.json asyncapi.json]
#
# The tools are pinned in scripts/contract-tools and kept in target/contract-tools.
set -euo pipefail
cd "$(dirname "$0")/.."

openapi=$(realpath "${1:-api/openapi.json}")
asyncapi=$(realpath "${2:-api/asyncapi.json}")
pins=$PWD/scripts/contract-tools
tools=$PWD/target/contract-tools

fail() {
  echo "check-contract: $*" >&2
  exit 1
}

for command in node npm python3; do
  command -v "$command" >/dev/null ||
    fail "\`$command\` is missing; install it (Debian: apt install nodejs npm python3-venv)"
done
for document in "$openapi" "$asyncapi"; do
  [[ -r $document ]] || fail "$document is missing; run \`make generate\`"
done

install_tools() {
  local wanted installed=$tools/installed
  wanted=$(cat "$pins"/{package.json,package-lock.json,requirements.txt} | sha256sum)
  if [[ ! -r $installed || $(<"$installed") != "$wanted" ]]; then
    rm -rf "$tools"
    mkdir -p "$tools"
    cp "$pins"/{package.json,package-lock.json} "$tools"
    npm ci --prefix "$tools" --ignore-scripts --no-audit --no-fund --loglevel=error ||
      fail "the npm packages cannot be installed; check the registry that npm uses"
    python3 -m venv "$tools/python" ||
      fail "python3 cannot make a virtual environment (Debian: apt install python3-venv)"
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check \
      --requirement "$pins/requirements.txt" ||
      fail "the Python packages cannot be installed; check the index that pip uses"
    echo "$wanted" >"$installed"
  fi
  # Modules resolve their imports from where they lie.
  cp "$pins"/*.mjs "$tools"
}

check() {
  local name=$1 log=$work/log
  shift
  if ! "$@" >"$log" 2>&1 || grep -qiE 'warn|⚠' "$log"; then
    cat "$log" >&2
    fail "$name is not content with the document"
  fi
  echo "ok   $name"
}

install_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The Python generator formats its output with the ruff beside it.
export PATH=$tools/node_modules/.bin:$tools/python/bin:$PATH

check 'openapi lint' node "$tools/lint-openapi.mjs" "$openapi"
check 'openapi-typescript' openapi-typescript "$openapi" --output "$work/api.d.ts"
check 'typescript' tsc --noEmit --strict "$work/api.d.ts"
# It knows no documents but plain bytes; whoever generates with it says the same.
printf 'content_type_overrides:\n  application/pdf: application/octet-stream\n' >"$work/python.yaml"
check 'openapi-python-client' openapi-python-client generate --fail-on-warning --config "$work/python.yaml" \
  --path "$openapi" --output-path "$work/client"
check 'python' python3 -m compileall -q "$work/client"
check 'asyncapi lint' node "$tools/lint-asyncapi.mjs" "$asyncapi"
