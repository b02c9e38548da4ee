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

/// The privacy manifest that Apple requires of a library that calls `stat` or sends crash reports.
let privacy: [Resource] = [.copy("PrivacyInfo.xcprivacy")]

let package = Package(
    name: "optimist",
    platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .library(name: "Optimist", targets: ["Optimist"]),
        .library(name: "OptimistUI", targets: ["OptimistUI"]),
        .library(name: "OptimistSession", targets: ["OptimistSession"]),
        .library(name: "OptimistLoading", targets: ["OptimistLoading"]),
        .library(name: "OptimistFetching", targets: ["OptimistFetching"]),
        .library(name: "OptimistHealth", targets: ["OptimistHealth"]),
        .library(name: "OptimistWire", targets: ["OptimistWire"]),
        .library(name: "OptimistCore", targets: ["OptimistCore"]),
        .library(name: "OptimistServing", targets: ["OptimistServing"]),
        .library(name: "OptimistTesting", targets: ["OptimistTesting"]),
    ],
    traits: [
        .trait(
            name: "AsyncHTTPClient",
            description: "The recommended transport on Linux. Off by default: apps on Apple's systems do not need NIO.")
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.45.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
    ],
    targets: [
        .target(name: "OptimistCore", swiftSettings: settings),
        .target(
            name: "OptimistWire", dependencies: [.target(name: "CLibCrypto", condition: .when(platforms: [.linux]))],
            exclude: ["README.md"], swiftSettings: settings),
        // OpenSSL, on Linux only. Apple's systems have CryptoKit.
        .systemLibrary(name: "CLibCrypto", providers: [.apt(["libssl-dev"])]),
        // zlib, only for AsyncHTTPClient's transport. URLSession decompresses responses itself.
        .systemLibrary(name: "CLibZ", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "OptimistSession",
            dependencies: [
                "OptimistCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "AsyncHTTPClient", package: "async-http-client",
                    condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["AsyncHTTPClient"])),
                .target(name: "CLibZ", condition: .when(traits: ["AsyncHTTPClient"])),
            ],
            exclude: ["README.md"],
            resources: privacy,
            // Compiles URLSessionTransport on Linux as well, so that its tests run there as far as possible.
            swiftSettings: settings + [
                .define("CheckURLSessionTransport", .when(platforms: [.linux], configuration: .debug))
            ]),
        .target(
            name: "OptimistLoading", dependencies: ["OptimistCore"], exclude: ["README.md"], resources: privacy,
            swiftSettings: settings),
        .target(
            name: "OptimistFetching",
            dependencies: [
                "OptimistCore", "OptimistLoading", "OptimistSession",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .target(
            name: "OptimistHealth",
            dependencies: [
                "OptimistCore", "OptimistWire", "OptimistSession",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["README.md"],
            resources: privacy,
            swiftSettings: settings),
        .target(
            name: "Optimist",
            dependencies: [
                "OptimistCore", "OptimistWire", "OptimistSession",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "OptimistUI",
            dependencies: [
                "Optimist", "OptimistCore", "OptimistSession", "OptimistWire",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "OptimistServing", dependencies: ["OptimistCore", "OptimistWire"], exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "OptimistTesting",
            dependencies: [
                "Optimist", "OptimistCore", "OptimistHealth", "OptimistWire", "OptimistServing", "OptimistSession",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["README.md"],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistTestingTests",
            dependencies: [
                "Optimist", "OptimistCore", "OptimistTesting", "OptimistWire", "TestForm",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistWireTests", dependencies: ["OptimistWire", "OptimistCore"], swiftSettings: settings),
        .testTarget(
            name: "OptimistServingTests",
            dependencies: ["OptimistServing", "OptimistCore", "OptimistWire", "TestForm"],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistSessionTests",
            dependencies: [
                "ChildProcess", "OptimistCore", "OptimistSession", "OptimistTesting", "TestForm",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistLoadingTests",
            dependencies: ["OptimistLoading", "OptimistCore", "OptimistTesting", "TestForm"],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistFetchingTests",
            dependencies: [
                "OptimistCore", "OptimistFetching", "OptimistLoading", "OptimistSession", "OptimistTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistHealthTests",
            dependencies: [
                "ChildProcess", "HealthProcess", "OptimistCore", "OptimistHealth", "OptimistSession", "OptimistTesting",
                "OptimistWire", "TestForm", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistUITests",
            dependencies: [
                "Optimist", "OptimistCore", "OptimistTesting", "OptimistUI", "OptimistWire",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .target(name: "TestForm", path: "Tests/TestForm", swiftSettings: settings),
        .target(
            name: "ChildProcess", dependencies: ["OptimistCore"], path: "Tests/ChildProcess", swiftSettings: settings),
        .executableTarget(
            name: "HealthProcess", dependencies: ["OptimistHealth", "OptimistWire"], path: "Tests/HealthProcess",
            swiftSettings: settings),
        .executableTarget(
            name: "OtherProcess",
            dependencies: ["Optimist", "OptimistTesting", .product(name: "GRDB", package: "GRDB.swift")],
            path: "Tests/OtherProcess", swiftSettings: settings),
        .testTarget(
            name: "OptimistTests",
            dependencies: [
                "ChildProcess", "Optimist", "OptimistCore", "OptimistTesting", "OtherProcess", "TestForm",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            resources: [.copy("Fixtures")], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
