// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// Everything that happens to a simulated world from outside: who writes when, and what goes wrong.
///
/// Each event carries all the chance that it needs, so that the rest means the same when some events are taken away.
package struct Plan: Codable, Sendable, Hashable {
    /// Decides the order of jobs and what happens to messages.
    package var seed: UInt64
    package var devices: Int
    /// Whether every wall clock is right. Then the last writer is known exactly.
    package var clocksAreRight: Bool
    /// The most rows of one page. Nil: as many as the server usually gives.
    package var pageRows: Int?
    /// The chaos lasts so long; then everything is healed.
    package var seconds: Double
    package var events: [Event]

    package struct Event: Codable, Sendable, Hashable {
        package var at: Double
        package var kind: Kind
        /// Whom it concerns. The server's events ignore it.
        package var device: Int
        /// Jobs, operations or seconds, as the kind means it.
        package var amount: Int
        /// Starts every draw of what happens.
        package var draw: UInt64
    }

    package enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        case write, offline, flaky, kill, diskCrash, ioError, diskFull, busy, powerLoss, skew
        case serverKill, serverDiskCrash, serverIOError, serverPowerLoss
        case expireTokens, revoke, signOut, checkpoint
        /// A device, or the server, goes back to a copy of its file that was taken a while before.
        case deviceRestore, serverRestore
        /// A device, or the server, gets the second version of the app.
        case upgrade, serverUpgrade
        /// All devices are off for a hundred days, and then the server forgets the rows that were deleted before.
        case absence
        case serverDiskFull, serverBusy
        /// A device that was switched off until now is switched on for the first time.
        case join

        /// Whether a plan may do without it. A write is the subject of the test; everything else is a fault.
        package var isFault: Bool { self != .write }
    }
}

extension Plan {
    /// Reads a plan that was saved.
    package init(contentsOf url: URL) throws { self = try JSONDecoder().decode(Plan.self, from: Data(contentsOf: url)) }

    /// The plan as JSON, one event a line.
    package func serialized() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let text = String(decoding: try encoder.encode(self), as: UTF8.self)
        return Data((text.replacing("},{", with: "},\n{").replacing("[{", with: "[\n{") + "\n").utf8)
    }
}

extension Plan.Event: CustomStringConvertible {
    package var description: String {
        let isServer = kind.rawValue.hasPrefix("server") || [.expireTokens, .absence].contains(kind)
        let who = isServer ? "server" : "device \(device)"
        return "\(String(format: "%7.2f", at)) s  \(who): \(kind.rawValue) \(amount) [\(String(draw, radix: 16))]"
    }
}
