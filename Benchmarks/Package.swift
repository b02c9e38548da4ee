// swift-tools-version: 6.2
// This source file is part of the Optimist open source project, under the MIT licence.

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "optimist-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "optimist", path: "..", traits: ["AsyncHTTPClient"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistLoading", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
            ],
            swiftSettings: settings)
    ],
    swiftLanguageModes: [.v6]
)
