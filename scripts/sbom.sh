#!/bin/sh
# Writes one CycloneDX file per binary to sbom/.
set -eu
cd "$(dirname "$0")/.."

rm -rf sbom
mkdir sbom
trap 'rm -f crates/*/*.cdx.json xtask/*.cdx.json' EXIT
cargo cyclonedx --quiet --format json --spec-version 1.5 --describe binaries
mv crates/*/*_bin.cdx.json sbom/
ls sbom/*.cdx.json
