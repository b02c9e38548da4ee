// swift-tools-version: 6.2
// This source file is part of the Optimist open source project, under the MIT licence.

import PackageDescription

// Scripts/sanitize copies this file next to the sources that it checks.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "thread-sanitizer",
    platforms: [.macOS(.v15)],
    targets: [
        .target(name: "OptimistCore", swiftSettings: settings),
        .target(name: "OptimistTesting", dependencies: ["OptimistCore"], swiftSettings: settings),
        .target(
            name: "OptimistLoading", dependencies: ["OptimistCore"], exclude: ["README.md"], swiftSettings: settings),
        .target(name: "TestForm", path: "Tests/TestForm", swiftSettings: settings),
        .testTarget(
            name: "OptimistLoadingTests",
            dependencies: ["OptimistCore", "OptimistLoading", "OptimistTesting", "TestForm"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
