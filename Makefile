# Hob's commands. `make run` and `make test` install what they lack; everything else expects a machine they ran on.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: run test check web setup setup-test lint unit browser clients home-proof head pictures audit proof bench aarch64 image image-test release release-check release-try clean

DATA ?= .hob
PORT ?= 4620
TARGET := $(or $(CARGO_TARGET_DIR),target)
LISTEN := $(if $(LAN),0.0.0.0,127.0.0.1):$(PORT)
PAGE := $(filter-out web/src/openapi.ts,$(shell find web/src web/public web/index.html web/package-lock.json web/openapi.mjs web/vite.config.ts web/tsconfig.json -type f 2>/dev/null)) tests/golden/openapi.json

## Build everything and start Hob in .hob/ on loopback (LAN=1 opens it to the network).
run:
	@echo "1 of 4  installing what this machine lacks"
	@$(MAKE) --no-print-directory setup
	@echo "2 of 4  building the page"
	@$(MAKE) --no-print-directory web
	@echo "3 of 4  building Hob: some minutes the first time; each part is named as it is compiled"
	cargo build
	@echo "4 of 4  Hob starts in $(DATA)/ and answers on http://$(if $(LAN),this machine:$(PORT),$(LISTEN)); Ctrl-C stops it"
	@echo "        talk to it from another terminal, too: target/debug/hob --data $(DATA) chat"
	@export HOB_LOG="$${HOB_LOG:-warn}"; exec target/debug/hob serve --data $(DATA) --board sim --listen $(LISTEN)

## The whole test suite.
test: setup setup-test web/dist/index.html
	cargo test --workspace
	$(MAKE) --no-print-directory browser clients release-check

## What is quick: format, lints, unit tests, and the frame (layers, lengths, licences, golden files).
check: setup web/dist/index.html lint unit
	cargo test --quiet --test hob frame

lint:
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	cd web && npm run --silent check

unit:
	cargo test --quiet --workspace --lib --bins

## The page in a real browser, against the real daemon.
browser: web/dist/index.html tests/browser/node_modules
	tests/browser/run

## The API with real clients in Python.
clients: tests/.venv tests/frameworks/.venv
	tests/clients/run
	tests/frameworks/run

## Hob with a real Home Assistant (700 MB of Python packages, installed when first needed).
home-proof: tests/home/.venv
	tests/home/run

## What reflex has learnt from the phrase files, learnt anew; the same phrases give the same bytes.
head:
	cargo test --quiet --config profile.dev.package.reflex.opt-level=3 -p reflex --lib write_the_head -- --ignored --nocapture

## The pictures of the README, taken anew.
pictures: setup setup-test web/dist/index.html tests/browser/node_modules
	cargo build --quiet
	tests/browser/run pictures
	cp target/shots/{hob-desktop-light,hob-phone-dark,room-home-desktop-light,room-tools-phone-dark}.png tests/pictures/

## A release build and which crate made it larger, a bench (so that they compile), the black-box tests against it, and the same
## for 64-bit ARM.
proof: setup setup-test web/dist/index.html
	cargo build --release
	tests/weight
	$(MAKE) --no-print-directory bench ONLY=rules
	HOB_BIN=$(CURDIR)/target/release/hob cargo test --test hob
	KILLS=200 HOB_BIN=$(CURDIR)/target/release/hob cargo test --test hob -- killed:: scheduled_kills::
	MEMORY_KILLS=100 DOCUMENT_KILLS=100 GRAPH_KILLS=100 VECTOR_KILLS=100 SQL_KILLS=100 SKILL_KILLS=100 BACKUP_KILLS=100 \
		HOB_BIN=$(CURDIR)/target/release/hob cargo test --test hob -- cuts_lose kill_loses kills_leave kill_leaves kill_of_a_restore
	INDEX_KILLS=100 cargo test -p memory --lib -- tests_kills::
	REEMBED_KILLS=100 cargo test -p vectors --lib -- tests_kills::
	LOG_KILLS=2000 HOB_BIN=$(CURDIR)/target/release/hob cargo test --test hob -- log_kills::
	CUTS=10000 cargo test -p store --lib -- tests_cuts::
	HOB_BIN=$(CURDIR)/target/release/hob $(MAKE) --no-print-directory home-proof
	$(MAKE) --no-print-directory release release-try

## A release for 64-bit ARM in target/aarch64/, run once under emulation, and the tests of the embedding's kernels for it.
aarch64: setup web/dist/index.html
	@.ci/setup aarch64
	cross/kernels.sh
	cross/build.sh
	cross/try.sh

## A release in target/release-out/VERSION: packages for Debian and archives for arm64 and amd64, checksums, materials, licences,
## and the image with an update bundle if `make image` made one. HOB_SIGNING_KEY=FILE signs the bundles, RELEASE_URL=ADDRESS is
## where the files will be.
release: setup web/dist/index.html
	@.ci/setup release
	cargo build --release
	$(MAKE) --no-print-directory aarch64
	@cross/release/release.py arm64=$(TARGET)/aarch64/hob amd64=$(TARGET)/release/hob

## What a release packs, tested with small inputs.
release-check: web/dist/index.html
	python3 tests/release/test_release.py

## The packed package in a new Debian that starts with systemd in a container, and the same release packed again.
release-try:
	@.ci/setup release-try
	cross/release/again.sh
	cross/release/try.sh $(wildcard $(TARGET)/release-out/*/hob_*_amd64.deb)

## A flashable image in target/image/BOARD/hob.img.xz; BOARD=qemu-virt is for the emulator, BOARD=rpi for a Raspberry Pi 3, 4
## or Zero 2 W. HOB_ARM=FILE takes that program instead of building it.
BOARD ?= qemu-virt
HOB_ARM ?=
image: setup web/dist/index.html
	@.ci/setup image
	@[ -n "$(HOB_ARM)" ] || { .ci/setup aarch64 && cross/build.sh; }
	firmware-image/build $(BOARD) $(or $(HOB_ARM),$${CARGO_TARGET_DIR:-target}/aarch64/hob)

## Boots the image of BOARD in the emulator and plays updates, faults and power cuts. ONLY="panic hang" picks some; CUTS=30
## cuts the power more often.
image-test: image
	@[ -n "$$HOB_HERE" ] || cargo build
	firmware-image/test/run $(BOARD) $(ONLY)

## The benchmarks, against the release: tables, and target/bench/*.json. ONLY="start memory" picks some; BENCH_LONG=1
## also waits until an idle Hob has let go of its model.
bench: setup web/dist/index.html
	@.ci/setup bench
	@tests/bench/run $(ONLY)

## Known vulnerabilities in dependencies; asks online.
audit:
	@command -v cargo-audit >/dev/null || { echo "install it first: cargo install cargo-audit --locked"; exit 1; }
	cargo audit

web: web/dist/index.html

web/node_modules: web/package-lock.json
	@echo "installing what the page is built with"
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

web/dist/index.html: web/node_modules $(PAGE)
	@echo "building the page"
	cd web && npm run --silent build
	@touch $@

tests/browser/node_modules: tests/browser/package-lock.json
	@echo "installing what drives the browser"
	cd tests/browser && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

tests/.venv: tests/clients/requirements.txt
	@echo "installing the Python clients"
	python3 -m venv $@
	$@/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

tests/home/.venv: tests/home/requirements.txt
	tests/home/setup
	@touch $@

tests/frameworks/.venv: tests/frameworks/requirements.txt
	@echo "installing LiteLLM and LangChain"
	python3 -m venv $@
	$@/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

setup:
	@.ci/setup build

setup-test:
	@.ci/setup test

clean:
	cargo clean
	rm -rf web/dist web/node_modules tests/browser/node_modules tests/.venv tests/frameworks/.venv tests/home/.venv
