#!/bin/sh
# Prints the folder of PostgreSQL's programs of a major version, for GPUAAS_PG_BIN:
# the system's where it has that version, else those that scripts/postgres-versions
# pins, kept in target/postgres-versions.
#
#   scripts/postgres-version.sh 18
set -eu
cd "$(dirname "$0")/.."

version=${1:?name a major version, such as 18}
pins=scripts/postgres-versions
kept=$PWD/target/postgres-versions

fail() {
    echo "postgres-version: $*" >&2
    exit 1
}

system=/usr/lib/postgresql/$version/bin
if [ -x "$system/initdb" ] && [ -x "$system/postgres" ]; then
    echo "$system"
    exit 0
fi

grep -q "\"postgres-$version\"" $pins/package.json ||
    fail "version $version is not pinned in $pins/package.json; install postgresql-$version, or add it there"
wanted=$(cat $pins/package.json $pins/package-lock.json | sha256sum)
if [ ! -r "$kept/installed" ] || [ "$(cat "$kept/installed")" != "$wanted" ]; then
    rm -rf "$kept"
    mkdir -p "$kept"
    cp $pins/package.json $pins/package-lock.json "$kept"
    npm ci --prefix "$kept" --ignore-scripts --no-audit --no-fund --loglevel=error >&2 ||
        fail "npm could not install the servers; check the registry that npm uses, or install postgresql-$version"
    # npm keeps no links: each package lists those of its libraries.
    node -e '
        const fs = require("fs"), path = require("path");
        for (const root of process.argv.slice(1))
            for (const { source, target } of JSON.parse(fs.readFileSync(path.join(root, "native/pg-symlinks.json"))))
                fs.symlinkSync(path.basename(source), path.join(root, target));
    ' "$kept"/node_modules/postgres-* || fail "the libraries of the servers could not be linked; remove $kept and try again"
    chmod -R a+rX "$kept"
    echo "$wanted" >"$kept/installed"
fi

native=$kept/node_modules/postgres-$version/native
# PostgreSQL refuses root, so another account runs it, which may not be let into this folder.
if [ "$(id -u)" -eq 0 ] && ! setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$native/bin/initdb"; then
    copy=${TMPDIR:-/tmp}/gpuaas-postgres-$version-$(echo "$wanted" | cut -c1-12)
    if [ ! -d "$copy" ]; then
        cp -a "$native" "$copy.$$" && chmod a+rx "$copy.$$" && mv -T "$copy.$$" "$copy" || fail "cannot copy the server to $copy"
    fi
    native=$copy
fi
"$native/bin/postgres" --version >&2 || fail "the server of version $version does not run on this system; install postgresql-$version"
echo "$native/bin"
