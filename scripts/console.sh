#!/usr/bin/env bash
# Builds and checks the console in console/.
#
#   scripts/console.sh build                      what gpuaasd serves, into console/dist/site
#   scripts/console.sh lint [folder]              types, eslint and prettier
#   scripts/console.sh test                       the tests of its logic
#   scripts/console.sh e2e [path of gpuaasd]      a browser against a real server; screenshots.
#                                                 Further words name the stories to run, as in `money`
#   scripts/console.sh pictures [path of gpuaasd] the pictures that documents show, into docs/pictures
#
# Packages are pinned in console/package-lock.json.
set -euo pipefail
cd "$(dirname "$0")/.."

# bound: the browser's tests take seven minutes unless something hangs
limit_s=900
root=$PWD/console

fail() {
  echo "console: $*" >&2
  exit 1
}

for command in node npm; do
  command -v "$command" >/dev/null ||
    fail "\`$command\` is missing; run scripts/bootstrap.sh (Debian: apt install nodejs npm)"
done

install_packages() {
  local wanted installed=$root/node_modules/.installed
  wanted=$(cat "$root"/{package.json,package-lock.json} | sha256sum)
  [[ -r $installed && $(<"$installed") == "$wanted" ]] && return
  npm ci --prefix "$root" --ignore-scripts --no-audit --no-fund --loglevel=error ||
    fail "the npm packages cannot be installed; check the registry that npm uses"
  echo "$wanted" >"$installed"
}

# The API's types come from its document, so that a change of it shows here.
write_types() {
  local types=$root/src/api/generated/schema.d.ts
  [[ $types -nt api/openapi.json ]] && return
  mkdir -p "$(dirname "$types")"
  "$bin/openapi-typescript" api/openapi.json --default-non-nullable=false --output "$types" >/dev/null ||
    fail "api/openapi.json cannot be turned into types"
}

install_packages
bin=$root/node_modules/.bin
case ${1:-} in
build)
  write_types
  (cd "$root" && "$bin/vite" build --logLevel warn) || fail "the console does not build"
  node "$root/scripts/finish.mjs" "$root/dist/site"
  ;;
lint)
  folder=$(realpath "${2:-$root}")
  [[ $folder == "$root" ]] && write_types
  cd "$folder"
  "$bin/tsc" --noEmit -p tsconfig.json || fail "the types do not fit"
  if [[ -r e2e/tsconfig.json ]]; then
    "$bin/tsc" --noEmit -p e2e/tsconfig.json || fail "the types of the browser's tests do not fit"
  fi
  "$bin/eslint" --config "$root/eslint.config.js" --max-warnings 0 . || fail "eslint is not content"
  "$bin/prettier" --config "$root/.prettierrc.json" --check --log-level warn . ||
    fail "prettier would change them: cd console && npx prettier --write ."
  ;;
test)
  write_types
  (cd "$root" && timeout "$limit_s" "$bin/vitest" run --reporter=dot) || fail "the tests of the console's logic failed"
  ;;
e2e | pictures)
  gpuaasd=$(realpath "${2:-target/debug/gpuaasd}")
  [[ -x $gpuaasd ]] || fail "$gpuaasd is missing; run \`cargo build --workspace\`"
  [[ -r $root/dist/site/index.html ]] || fail "the console is not built; run \`scripts/console.sh build\`"
  only=("${@:3}")
  if [[ $1 == pictures ]]; then
    export GPUAAS_PICTURES=$PWD/docs/pictures
    only=(pictures.spec.ts)
  fi
  stories() {
    rm -f "$report"
    (cd "$root" && GPUAAS_GPUAASD=$gpuaasd timeout "$limit_s" "$bin/vitest" run --config e2e/vitest.config.ts \
      --reporter=verbose --reporter=json --outputFile.json="$report" "$@")
  }
  report=$root/node_modules/.e2e.json
  if ! stories "${only[@]}"; then
    [[ -r $report ]] || fail "the browser's tests did not end; see above"
    first=$(node "$root/scripts/failures.mjs" words "$report")
    mapfile -t failed < <(node "$root/scripts/failures.mjs" files "$report")
    # Where a machine judges alone, what failed is run again, and told apart.
    if [[ ${GPUAAS_TESTS_AGAIN:-} != 1 ]] || ! stories "${failed[@]}"; then
      echo "$first" >&2
      fail "the browser's tests failed; what it saw is in console/screenshots"
    fi
    printf '%s\n' "console: FLAKY, failed first and passed the second time:" "$first" >&2
  fi
  ;;
*)
  fail "say what to do: build, lint, test, e2e or pictures"
  ;;
esac
