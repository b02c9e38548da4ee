# This source file is part of the Optimist open source project, under the MIT licence.
# Start with `make run` or `make test`: both install missing system packages.

.PHONY: help run quick test ci test-all soak bench docs format release release-check install

help:  ## Shows this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

install:  ## Installs the system packages that are missing.
	@Scripts/install

run:  ## Starts the lab (two phones and a server in a web page) and prints its address.
	@Scripts/install run
	@Scripts/run-lab

quick:  ## Builds client and server, and runs their unit tests.
	@Scripts/test quick

test:  ## Builds client and server, and runs every test, long ones in a short form.
	@Scripts/test

ci:  ## Runs the same as CI: `make test`, the gates, and the release build if time allows.
	@Scripts/test ci

test-all:  ## Runs every test in its full form, the gates (format, documentation, interface, Apple's systems) and the release build.
	@Scripts/test all

soak:  ## Runs test-all and the long campaigns: hundreds of kills, thousands of seeds.
	@Scripts/test soak

bench:  ## Runs the benchmarks in release form, each against its baseline.
	@Scripts/install run
	@swift run -c release --package-path Benchmarks

docs:  ## Builds the documentation of every library, and lists the tests of each promise; a broken link is an error.
	@swift build --package-path Server --build-tests
	@Scripts/docs

format:  ## Formats every Swift file.
	@Scripts/format

release:  ## Makes the archive and the Debian package of a release, in .build/packages.
	@Scripts/release

release-check:  ## Installs that package into a clean Debian, syncs two devices through it, and removes it.
	@Scripts/release-check
