#!/usr/bin/env bash
# Checks the Python SDK in sdk/python.
#
#   scripts/python-sdk.sh test [path of gpuaasd]   its tests, against a real server
#   scripts/python-sdk.sh lint [folder]            ruff and mypy, in strict mode
#
# The tools are pinned in sdk/python/requirements-dev.txt and kept in target/python-sdk.
set -euo pipefail
cd "$(dirname "$0")/.."

pins=$PWD/sdk/python/requirements-dev.txt
tools=$PWD/target/python-sdk
# bound: the tests take half a minute unless something hangs
limit_s=600

fail() {
  echo "python-sdk: $*" >&2
  exit 1
}

install_tools() {
  local wanted installed=$tools/installed
  wanted=$(sha256sum <"$pins")
  [[ -r $installed && $(<"$installed") == "$wanted" ]] && return
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "the SDK needs Python 3.11 or newer; install it as python3"
  python3 -m venv "$tools/venv" ||
    fail "python3 cannot make a virtual environment (Debian: apt install python3-venv)"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$pins" ||
    fail "the Python packages cannot be installed; check the index that pip uses"
  echo "$wanted" >"$installed"
}

install_tools
bin=$tools/venv/bin
export PYTHONDONTWRITEBYTECODE=1
case ${1:-} in
test)
  gpuaasd=$(realpath "${2:-target/debug/gpuaasd}")
  [[ -x $gpuaasd ]] || fail "$gpuaasd is missing; run \`cargo build --workspace\`"
  cd sdk/python
  PYTHONPATH=src GPUAAS_GPUAASD=$gpuaasd timeout "$limit_s" "$bin/python" -m pytest ||
    fail "the tests of the Python SDK failed; repeat one with \`scripts/python-sdk.sh test\`"
  ;;
lint)
  cd "${2:-sdk/python}"
  "$bin/ruff" check --no-cache . && "$bin/ruff" format --no-cache --check . &&
    MYPYPATH=src:tests "$bin/mypy" --cache-dir "$tools/mypy" ||
    fail "ruff or mypy is not content with the Python SDK"
  ;;
*)
  fail "say what to do: test or lint"
  ;;
esac
