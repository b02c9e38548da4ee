# This source file is part of the Optimist open source project, under the MIT licence.
# `make run` and `make test` are all that a newcomer needs: both install what is missing.

.PHONY: help run test soak bench docs format install

help:  ## Shows this list.
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

install:  ## Installs the system packages that are missing.
	@Scripts/install

run:  ## Starts the lab, two phones and a server in a web page, and prints its address.
	@Scripts/install run
	@swift run --package-path Server optimist lab

test:  ## Builds client and server and runs every test: about a quarter of an hour from nothing.
	@Scripts/test

soak:  ## The long campaigns: hundreds of kills, thousands of seeds.
	@OPTIMIST_SOAK=1 Scripts/test

bench:  ## Measures, release build, each figure beside what it is compared with.
	@Scripts/install run
	@swift run -c release --package-path Benchmarks

docs:  ## Builds the documentation of every library; a broken link is an error.
	@Scripts/docs

format:  ## Formats every Swift file.
	@git ls-files -z '*.swift' | xargs -0 swift format --in-place --parallel
