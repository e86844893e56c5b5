#!/usr/bin/env bash
# Sends what schemathesis makes of api/openapi.json to a running server: no 5xx,
# and no status, header, media type or body that the document does not promise.
#
#   scripts/schemathesis.sh [path of gpuaasd]
#
# The same requests are sent each time; GPUAAS_FUZZ_SEED chooses others, and
# GPUAAS_SOAK sends ten times as many.
# The tool is pinned in scripts/test-tools and kept in target/test-tools.
set -euo pipefail
cd "$(dirname "$0")/.."

gpuaasd=$(realpath "${1:-target/debug/gpuaasd}")
pins=$PWD/scripts/test-tools
tools=$PWD/target/test-tools
document=$PWD/api/openapi.json
# bound: no pass takes this long unless something hangs
pass_limit_s=${GPUAAS_SOAK:+6}600
seed=${GPUAAS_FUZZ_SEED:-20260101}

fail() {
  echo "schemathesis: $*" >&2
  exit 1
}

install_tools() {
  local wanted installed=$tools/installed
  wanted=$(sha256sum <"$pins/requirements.txt")
  [[ -r $installed && $(<"$installed") == "$wanted" ]] && return
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv" ||
    fail "python3 cannot make a virtual environment (Debian: apt install python3-venv)"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check \
    --requirement "$pins/requirements.txt" ||
    fail "the Python packages cannot be installed; check the index that pip uses"
  echo "$wanted" >"$installed"
}

start_server() {
  GPUAAS_LOG=error "$gpuaasd" dev --data-dir "$work/data" --listen 127.0.0.1:0 >"$work/log" 2>&1 &
  server=$!
  for _ in $(seq 600); do
    grep -q 'is ready' "$work/log" && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$work/log" >&2
  fail "gpuaasd dev did not become ready"
}

stop_server() {
  if [[ -n ${server:-} ]]; then
    kill -INT "$server" 2>/dev/null || true
    wait "$server" || true
  fi
  rm -rf "$work"
}

# pass NAME TOKEN MAX_EXAMPLES [parameters…] -- [flags…]
pass() {
  local name=$1 token=$2 examples=$3 config=$work/schemathesis.toml
  shift 3
  cp "$pins/schemathesis.toml" "$config"
  echo '[parameters]' >>"$config"
  while [[ $1 != -- ]]; do
    echo "\"path.${1%%=*}\" = \"${1#*=}\"" >>"$config"
    shift
  done
  shift
  echo "== schemathesis: $name"
  # It keeps a cache where it is started.
  if ! env --chdir "$work" timeout "$pass_limit_s" "$tools/venv/bin/schemathesis" --config-file "$config" \
    run "$document" --url "$url" --header "Authorization: Bearer $token" --max-examples "$examples${GPUAAS_SOAK:+0}" \
    --seed "$seed" --warnings off --no-color "$@" >"$work/report"; then
    cat "$work/report"
    fail "the pass \"$name\" failed; the report above says how to repeat each request"
  fi
  grep -E 'Tested: |generated, |^=+ .* in ' "$work/report"
}

# A limit that came back would refuse what follows.
lay_policies() {
  python3 "$pins/prepare.py" "$work/data/dev.env" policies
}

operations() {
  local flag=$1 operation
  shift
  for operation in "$@"; do printf '%s\n%s\n' "$flag" "$operation"; done
}

[[ -x $gpuaasd ]] || fail "$gpuaasd is missing; run \`cargo build --workspace\`"
install_tools
work=$(mktemp -d)
# The account that runs the private PostgreSQL must get through.
chmod 711 "$work"
trap stop_server EXIT
start_server
eval "$(python3 "$pins/prepare.py" "$work/data/dev.env")"

# Policies of the platform have passes of their own and are laid anew after each.
# These end the session, the organization or the account that a pass lives on.
# They are left out there and get passes of their own, where ending is harmless.
endings=(SignOutEverywhere RevokeSession CloseOrganization DeleteProject EraseUser SetPlatformRole)
mapfile -t without_endings < <(operations --exclude-operation-id "${endings[@]}")

pass 'an owner in their organization' "$owner" 20 "organization_id=$organization" "project_id=$project" -- \
  --exclude-path-regex '^/v1/platform/' "${without_endings[@]}"
pass 'an operator on the platform' "$operator" 20 "organization_id=$spare" -- \
  --include-path-regex '^/v1/platform/' --exclude-path-regex '^/v1/platform/policies/' "${without_endings[@]}"
pass 'an owner and policies that exist' "$owner" 20 key=projects.max "organization_id=$organization" "project_id=$project" -- \
  --include-path-regex '^/v1/(organizations|projects)/.*/policies/'
pass 'an operator and policies that exist' "$operator" 20 key=projects.max -- \
  --include-path-regex '^/v1/platform/policies/'
lay_policies
pass 'an operator and policies of any name' "$operator" 20 -- \
  --include-path-regex '^/v1/platform/policies'
lay_policies
pass 'ids that do not exist' "$owner" 5 -- \
  --include-path-regex '[{]' --phases coverage,fuzzing "${without_endings[@]}"
pass 'the end of an organization' "$owner" 10 "organization_id=$spare" "project_id=$spare_project" -- \
  --include-operation-id CloseOrganization --include-operation-id DeleteProject
pass 'the end of accounts' "$operator" 10 -- \
  --include-operation-id EraseUser --include-operation-id SetPlatformRole
pass 'the end of sessions' "$leaver" 10 -- \
  --include-operation-id SignOutEverywhere --include-operation-id RevokeSession
