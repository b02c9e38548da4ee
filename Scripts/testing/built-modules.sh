# This source file is part of the Optimist open source project, under the MIT licence.
#
# Sets `modules`, the compiler options to type-check against the modules of the server's build. To be sourced.
# shellcheck shell=bash

built=Server/.build/debug
modules=(-I "$built/Modules")
for map in "$built"/*.build/module.modulemap; do modules+=(-Xcc "-fmodule-map-file=$map"); done
for map in Sources/*/module.modulemap Server/.build/checkouts/*/Sources/{*,*/include}/module.modulemap; do modules+=(-I "${map%/*}"); done
