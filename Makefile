# This source file is part of the Optimist open source project, under the MIT licence.
# `make run` and `make test` are all that a newcomer needs: both install what is missing.

.PHONY: help run quick test ci test-all soak bench docs format install

help:  ## Shows this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

install:  ## Installs the system packages that are missing.
	@Scripts/install

run:  ## Starts the lab, two phones and a server in a web page, and prints its address.
	@Scripts/install run
	@Scripts/run-lab

quick:  ## Builds, and runs the unit tests of client and server.
	@Scripts/test quick

test:  ## Builds client and server and runs every test, the long ones in a short form.
	@Scripts/test

ci:  ## The tests of `make test`, the gates, and the release form where time allows: what CI runs.
	@Scripts/test ci

test-all:  ## Every test in its full form, the gates, and the release form: format, documentation, interface, Apple's systems.
	@Scripts/test all

soak:  ## The long campaigns: hundreds of kills, thousands of seeds.
	@Scripts/test soak

bench:  ## Measures, release build, each figure beside what it is compared with.
	@Scripts/install run
	@swift run -c release --package-path Benchmarks

docs:  ## Builds the documentation of every library, and lists the tests of each promise; a broken link is an error.
	@swift build --package-path Server --build-tests
	@Scripts/docs

format:  ## Formats every Swift file.
	@Scripts/format
