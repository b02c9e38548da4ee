// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

/// A crash log in JSON, as Swift's runtime writes it on Linux with `format=json`.
///
/// It lacks the process id, and the message of `fatalError`, which is written to standard error.
///
/// > Source: Swift 6.3, docs/Backtracing.rst and docs/JSONCrashLog.rst.
struct SwiftBacktrace: Decodable {
    struct Thread: Decodable {
        var crashed: Bool?
        var frames: [Frame]
    }
    struct Frame: Decodable {
        var kind: String
        var address: String?
        var system: Bool?
        var symbol: String?
        var description: String?
        var image: String?
        var sourceLocation: Location?
    }
    struct Location: Decodable {
        var file: String
        var line: Int
    }
    struct Image: Decodable {
        var name: String?
        var buildId: String?
        var path: String?
        var baseAddress: String
    }

    var timestamp: String
    var kind: String
    var description: String
    var threads: [Thread]
    var images: [Image]?

    var date: Date? {
        try? Date(timestamp, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static let failurePrefix = "Swift runtime failure: "

    var signature: CrashSignature {
        let frames = threads.first { $0.crashed == true }?.frames ?? []
        let own = frames.compactMap(ownFrame)
        if description.hasPrefix(Self.failurePrefix) {
            return CrashSignature(
                kind: "Fatal error", message: String(description.dropFirst(Self.failurePrefix.count)), frames: own)
        }
        // The frames that the app's innermost frame called.
        let innermost = frames.prefix { ownFrame($0) == nil }.compactMap(\.symbol)
        if let (kind, message) = RuntimeFailure.named(by: innermost) {
            return CrashSignature(kind: kind, message: message, frames: own)
        }
        return CrashSignature(kind: description, frames: own)
    }

    /// Nil if the frame belongs to the system or to Swift.
    private func ownFrame(_ frame: Frame) -> CrashSignature.Frame? {
        guard frame.system != true, let address = frame.address.flatMap(Self.number),
            let image = images?.first(where: { $0.name == frame.image }), let build = image.buildId,
            let base = Self.number(image.baseAddress), address >= base, Self.isOwn(image.path ?? "")
        else { return nil }
        let location = frame.sourceLocation.flatMap { $0.line > 0 ? $0 : nil }
        return CrashSignature.Frame(
            image: build, offset: Int64(clamping: address - base), function: function(frame), file: location?.file,
            line: location?.line)
    }

    private func function(_ frame: Frame) -> String? {
        (frame.description ?? frame.symbol)?.replacing(#/ \+ \d+$/#, with: "")
    }

    private static func isOwn(_ path: String) -> Bool {
        !["/lib", "/usr/lib", "/usr/local/lib"].contains { path.hasPrefix($0) } && !path.contains("/lib/swift/")
    }

    private static func number(_ text: String) -> UInt64? { UInt64(text.dropFirst(2), radix: 16) }
}
