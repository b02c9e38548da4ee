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

let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

// The client's tests, through a symbolic link, so that one build compiles and tests client and server. The client's package
// also has them, for work on the client alone.
let clientTests: [Target] = [
    .target(
        name: "ChildProcess", dependencies: client("OptimistCore"), path: "Tests/Client/ChildProcess",
        swiftSettings: settings),
    .target(name: "TestForm", path: "Tests/Client/TestForm", swiftSettings: settings),
    .executableTarget(
        name: "HealthProcess", dependencies: client("OptimistHealth", "OptimistWire"),
        path: "Tests/Client/HealthProcess",
        swiftSettings: settings),
    .executableTarget(
        name: "OtherProcess", dependencies: client("Optimist", "OptimistTesting") + [grdb],
        path: "Tests/Client/OtherProcess", swiftSettings: settings),
    clientTest("OptimistWireTests", client("OptimistCore", "OptimistWire")),
    clientTest("OptimistServingTests", client("OptimistCore", "OptimistServing", "OptimistWire") + ["TestForm"]),
    clientTest(
        "OptimistSessionTests",
        client("OptimistCore", "OptimistSession", "OptimistTesting") + ["ChildProcess", "TestForm", httpTypes]),
    clientTest(
        "OptimistLoadingTests", client("OptimistCore", "OptimistLoading", "OptimistTesting") + ["TestForm"]),
    clientTest(
        "OptimistFetchingTests",
        client("OptimistCore", "OptimistFetching", "OptimistLoading", "OptimistSession", "OptimistTesting")
            + [httpTypes]),
    clientTest(
        "OptimistHealthTests",
        client("OptimistCore", "OptimistHealth", "OptimistSession", "OptimistTesting", "OptimistWire")
            + ["ChildProcess", "HealthProcess", "TestForm", httpTypes]),
    clientTest(
        "OptimistTestingTests",
        client("Optimist", "OptimistCore", "OptimistTesting", "OptimistWire") + ["TestForm", grdb]),
    clientTest(
        "OptimistUITests",
        client("Optimist", "OptimistCore", "OptimistTesting", "OptimistUI", "OptimistWire") + [grdb]),
    clientTest(
        "OptimistTests",
        client("Optimist", "OptimistCore", "OptimistTesting") + [
            "ChildProcess", "OtherProcess", "TestForm", httpTypes,
        ],
        resources: [.copy("Fixtures")]),
]

/// Products of the client's package.
func client(_ names: String...) -> [Target.Dependency] { names.map { .product(name: $0, package: "optimist") } }

func clientTest(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/Client/\(name)", resources: resources,
        swiftSettings: settings)
}

let package = Package(
    name: "optimist-server",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "OptimistServer", targets: ["OptimistServer"]),
        .library(name: "OptimistPostgres", targets: ["OptimistPostgres"]),
        .executable(name: "optimist", targets: ["OptimistCommandLine"]),
    ],
    dependencies: [
        .package(name: "optimist", path: "..", traits: ["AsyncHTTPClient"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        .target(
            name: "OptimistGazetteer",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "OptimistCore", package: "optimist"),
            ],
            exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "OptimistLoopback",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            swiftSettings: settings),
        .target(
            name: "OptimistServer",
            dependencies: [
                "COpenSSL", "OptimistGazetteer", "OptimistLoopback",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            exclude: ["Guard/README.md", "README.md"],
            resources: [
                .embedInCode("Admin/Web"), .embedInCode("HTTP/openapi.json"), .embedInCode("JoinPage/Web"),
            ],
            swiftSettings: settings),
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "OptimistPostgres",
            dependencies: [
                "CLibPQ", "OptimistServer",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
            ],
            exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "OptimistSimulation",
            dependencies: [
                "OptimistPostgres", "OptimistServer",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
            ],
            exclude: ["README.md"],
            swiftSettings: settings),
        .target(
            name: "OptimistProxy",
            dependencies: [
                "OptimistLoopback",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "OptimistCore", package: "optimist"),
            ],
            swiftSettings: settings),
        .target(
            name: "OptimistLab",
            dependencies: [
                "OptimistGazetteer", "OptimistLoopback", "OptimistPostgres", "OptimistProxy", "OptimistServer",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistFetching", package: "optimist"),
                .product(name: "OptimistHealth", package: "optimist"),
                .product(name: "OptimistLoading", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            exclude: ["README.md"],
            resources: [.copy("GeoNames"), .copy("Web")],
            swiftSettings: settings),
        // Not named after its product, because `optimist` and the module `Optimist` are the same file name on a Mac.
        .executableTarget(
            name: "OptimistCommandLine",
            dependencies: [
                "OptimistGazetteer", "OptimistLab", "OptimistPostgres", "OptimistProxy", "OptimistServer",
                "OptimistSimulation",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Sources/optimist",
            swiftSettings: settings),
        // The template of a program that embeds the server, only compiled here.
        .target(
            name: "AppRules", dependencies: [.product(name: "OptimistWire", package: "optimist")],
            path: "Template/Sources/AppRules", swiftSettings: settings),
        .target(
            name: "AppServer",
            dependencies: [
                "AppRules", "OptimistServer",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Template/Sources/AppServer", swiftSettings: settings),
        .executableTarget(
            name: "HookProcess",
            dependencies: [
                "OptimistPostgres", "OptimistServer",
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
            ],
            path: "Tests/HookProcess", swiftSettings: settings),
        .executableTarget(
            name: "PhoneProcess",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
            ],
            path: "Tests/PhoneProcess", swiftSettings: settings),
        .executableTarget(
            name: "SharingProcess",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
            ],
            path: "Tests/SharingProcess", swiftSettings: settings),
        .executableTarget(
            name: "SessionProcess",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
            ],
            path: "Tests/SessionProcess", swiftSettings: settings),
        .testTarget(
            name: "OptimistGazetteerTests",
            dependencies: [
                "OptimistGazetteer", "TestForm",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "OptimistCore", package: "optimist"),
            ],
            exclude: ["Fixtures"], swiftSettings: settings),
        .testTarget(
            name: "OptimistServerTests",
            dependencies: [
                "AppRules", "COpenSSL", "OptimistGazetteer", "OptimistLoopback", "OptimistPostgres", "OptimistServer",
                "TestForm",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Instrumentation", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistSimulationTests",
            dependencies: [
                "OptimistSimulation", "TestForm",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "OptimistTesting", package: "optimist"),
            ],
            resources: [.copy("Seeds")], swiftSettings: settings),
        // Separate from the session's other tests, because only this package enables the trait AsyncHTTPClient.
        .testTarget(
            name: "OptimistTransportTests",
            dependencies: [
                "TestForm",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OptimistLabTests",
            dependencies: [
                "OptimistLab", "OptimistProxy", "OptimistServer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Optimist", package: "optimist"),
                .product(name: "OptimistCore", package: "optimist"),
                .product(name: "OptimistHealth", package: "optimist"),
                .product(name: "OptimistLoading", package: "optimist"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistSession", package: "optimist"),
                .product(name: "OptimistTesting", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
            ],
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
    ] + clientTests,
    swiftLanguageModes: [.v6]
)
