// swift-tools-version: 6.2
// This source file is part of the Optimist open source project, under the MIT licence.
//
// The program of "Getting started". Scripts/test compiles it and runs it on two devices.

import PackageDescription

let package = Package(
    name: "FirstHour",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "optimist", path: "../..", traits: ["AsyncHTTPClient"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "FirstHour",
            dependencies: [
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ])
    ])
