// swift-tools-version: 6.2
// This source file is part of the Optimist open source project, under the MIT licence.
//
// A template: a server of your own with the app's checks. Copy this folder, rename the modules, and let `package(path:)`
// lead to your copy of Optimist. Documentation/Rules.md says what the checks and hooks may do.

import PackageDescription

let package = Package(
    name: "app-server",
    platforms: [.macOS(.v15)],
    // The app depends on this product, so that both sides decide alike.
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
