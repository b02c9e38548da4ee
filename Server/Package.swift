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
    name: "optimist-server",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "OptimistProxy", targets: ["OptimistProxy"]),
        .executable(name: "optimist", targets: ["OptimistCommandLine"]),
    ],
    dependencies: [
        .package(name: "optimist", path: "..", traits: ["AsyncHTTPClient"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .target(
            name: "OptimistProxy",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "OptimistCore", package: "optimist"),
            ],
            swiftSettings: settings),
        // Not named like its product: `optimist` and the module `Optimist` are one file name on a Mac's disk.
        .executableTarget(
            name: "OptimistCommandLine",
            dependencies: [
                "OptimistProxy",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "OptimistCore", package: "optimist"),
            ],
            path: "Sources/optimist",
            swiftSettings: settings),
        .testTarget(
            name: "OptimistProxyTests",
            dependencies: [
                "OptimistProxy",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "OptimistCore", package: "optimist"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
