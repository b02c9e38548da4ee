// swift-tools-version: 6.2
// This source file is part of the Optimist open source project, under the MIT licence.
//
// A template for your own server with the app's checks. Copy this folder, rename the modules, and point `package(path:)`
// at your copy of Optimist. Documentation/Rules.md describes the checks and hooks.

import PackageDescription

let package = Package(
    name: "app-server",
    platforms: [.macOS(.v15)],
    // The app also depends on this product, so that both sides run the same checks.
    products: [.library(name: "AppRules", targets: ["AppRules"])],
    dependencies: [
        .package(name: "optimist", path: "../.."),
        .package(name: "optimist-server", path: ".."),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .target(name: "AppRules", dependencies: [.product(name: "OptimistWire", package: "optimist")]),
        .executableTarget(
            name: "AppServer",
            dependencies: [
                "AppRules",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "OptimistServer", package: "optimist-server"),
                .product(name: "OptimistServing", package: "optimist"),
                .product(name: "OptimistWire", package: "optimist"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
    ])
