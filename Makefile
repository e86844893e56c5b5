# What people and CI run. `make` alone lists the targets.

.DEFAULT_GOAL := help
.NOTPARALLEL:

# The workspace that a single guard judges; their own tests point it elsewhere.
TREE ?= .
# Passed on to the program, the test runner or the benchmark.
ARGS ?=
# A snapshot of the advisory database, used instead of the network when present.
GPUAAS_ADVISORY_DB ?= ../shared/advisory-db
AUDIT_DB = $(if $(wildcard $(GPUAAS_ADVISORY_DB)/crates),--no-fetch --stale --db $(GPUAAS_ADVISORY_DB))
export GPUAAS_ADVISORY_DB

GUARDS = format clippy tidy compat contract-tools python console deny audit unused previous-release guard-tests

.PHONY: help dev guides test coverage check guards $(GUARDS) bench bench-short soak nightly sbom generate root-test host-test

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: ## install what is missing, build, and start everything on this machine
	@scripts/bootstrap.sh
	scripts/console.sh build
	cargo build --workspace
	./target/debug/gpuaasd dev $(ARGS)

test: ## run the whole test suite (ARGS go to the test runner)
	@scripts/bootstrap.sh --test
	scripts/console.sh build
	cargo xtask test $(ARGS)

coverage: ## the whole test suite, measured against the floors of coverage.toml
	@scripts/bootstrap.sh --test --guards
	scripts/console.sh build
	scripts/coverage.sh $(ARGS)

check: ## fast inner loop: format, types and the repository's own rules
	cargo fmt --all --check
	cargo check --workspace --all-targets
	cargo xtask tidy

guards: ## everything that CI forbids; docs/guards.md explains each one
	@scripts/bootstrap.sh --test --guards
	@for guard in $(GUARDS); do echo "== $$guard" && $(MAKE) --no-print-directory $$guard || exit 1; done

format:
	cargo fmt --manifest-path $(TREE)/Cargo.toml --all --check

clippy:
	cargo clippy --manifest-path $(TREE)/Cargo.toml --workspace --all-targets -- -D warnings

tidy:
	cargo xtask tidy

deny:
	cargo deny --manifest-path $(TREE)/Cargo.toml --locked --config deny.toml check --hide-inclusion-graph licenses bans sources

audit:
	cargo audit --file $(TREE)/Cargo.lock --deny warnings $(AUDIT_DB)

unused:
	cargo-machete $(TREE)

compat:
	cargo xtask compat

contract-tools:
	scripts/check-contract.sh $(TREE)/api/openapi.json $(TREE)/api/asyncapi.json

python:
	scripts/python-sdk.sh lint $(TREE)/sdk/python

console:
	scripts/console.sh lint $(TREE)/console

previous-release:
	scripts/previous-release.sh

guard-tests:
	cargo test --quiet --package xtask --test guards -- --include-ignored

bench: ## measure everything against bare pgbench, and record it in docs/generated/bench.md
	@scripts/bootstrap.sh --test
	cargo build --release --workspace --bins --examples
	@./target/release/xtask bench $(ARGS)

bench-short: ## the few minutes of it that CI runs, on a debug build, against floors of its own
	@scripts/bootstrap.sh --test
	cargo build --workspace --bins
	@./target/debug/xtask bench --short $(ARGS)

soak: ## run the tests with crash, race and fuzz loops at full size, and print a table of them
	@scripts/bootstrap.sh --test
	scripts/console.sh build
	cargo xtask soak $(ARGS)

nightly: soak guides ## what runs every night: the soak, which ends with one table, then the guides

root-test: ## the tests that make users on this machine (as root)
	cargo xtask root-test

host-test: ## the agent under its unit in a virtual machine with systemd (root; builds it once)
	cargo test -p agent --test systemd -- --ignored --nocapture

guides: ## perform the guides that walk through a change, on a copy of the tree
	@for guide in $$(grep -lE '^```.* (file=|run$$)' docs/guides/*.md); do cargo xtask guide $$guide || exit 1; done

sbom: ## write a bill of materials for every binary to sbom/
	@scripts/bootstrap.sh --guards
	scripts/sbom.sh

generate: ## write the generated files
	cargo xtask generate
