// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// The external events of a world: the users' writes and the faults.
///
/// Each event carries its own randomness, so removing some events does not change the others.
package struct Plan: Codable, Sendable, Hashable {
    /// Determines the order of jobs and the fate of messages.
    package var seed: UInt64
    package var devices: Int
    /// The number of people who share rows. Nil: one person, who shares none.
    package var persons: Int?
    /// Whether the devices' clocks are right. If not, the test does not know exactly which writer was last.
    package var clocksAreRight: Bool
    /// Nil uses the server's default.
    package var pageRows: Int?
    /// For how many seconds faults occur.
    package var seconds: Double
    package var events: [Event]

    package struct Event: Codable, Sendable, Hashable {
        package var at: Double
        package var kind: Kind
        /// The device of the event. Events of the server ignore this number.
        package var device: Int
        /// Jobs, operations or seconds, depending on `kind`.
        package var amount: Int
        /// Seeds all random choices of this event.
        package var draw: UInt64
    }

    package enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        case write, offline, flaky, kill, diskCrash, ioError, diskFull, busy, powerLoss, skew
        case serverKill, serverDiskCrash, serverIOError, serverPowerLoss
        case expireTokens, revoke, signOut, checkpoint
        /// The device or the server is restored from an older copy of its file.
        case deviceRestore, serverRestore
        /// The device or the server gets the second version of the app.
        case upgrade, serverUpgrade
        /// All devices are off for a hundred days, and then the server purges old tombstones.
        case absence
        case serverDiskFull, serverBusy
        /// A device starts for the first time.
        case join

        /// What people do with spaces.
        case found, invite, accept, leave, remove, setRole, transfer, revokeInvitation, deleteSpace, move

        /// False for what users do, which is the subject of the test.
        package var isFault: Bool { self != .write && !isOfSpaces }

        package var isOfSpaces: Bool {
            switch self {
            case .found, .invite, .accept, .leave, .remove, .setRole, .transfer, .revokeInvitation, .deleteSpace,
                .move:
                true
            default: false
            }
        }
    }
}

extension Plan {
    package init(contentsOf url: URL) throws { self = try JSONDecoder().decode(Plan.self, from: Data(contentsOf: url)) }

    /// The plan as JSON, with one event per line.
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
