// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

/// Devices that share rows in several spaces, and their server. Only ``RowPlace`` is the product's code.
///
/// There are two kinds of rows: a list names its space, and a to-do names its list.
enum MoveModel {
    /// A mistake in the model, which the worlds must notice.
    enum Fault: CaseIterable {
        /// A move takes only the device's values.
        case copyForgets
        /// Another identity begins with each move.
        case firstLifeForgotten
        /// A moved row has ended.
        case departureIgnored
        /// A moved list leaves its to-dos behind.
        case subtreeForgotten
        case claimDropped
        case claimOfTombstoneDropped
        case claimShown
        /// A deletion of a row that has moved is answered as done.
        case deletionStays
        case placeNotNoted
        /// A stale column counts as a move.
        case impliedMove
        /// If the source lacks the row, a move does not leave a tombstone there.
        case departureOfMissingRowForgotten
    }

    /// A value with the time of its write. Each write has its own time.
    struct Cell: Equatable {
        var value: Int
        var time: Int

        static func later(_ a: Cell?, _ b: Cell?) -> Cell? { b?.time ?? 0 > a?.time ?? 0 ? b : a }
    }

    struct Values: Equatable {
        /// The space of a list, or the list of a to-do.
        var home: Cell?
        var title: Cell?
        /// The total of each device.
        var counts = SIMD4<Int32>()

        var count: Int { (0..<4).reduce(0) { $0 + Int(counts[$1]) } }

        mutating func merge(_ other: Values) {
            home = Cell.later(home, other.home)
            title = Cell.later(title, other.title)
            counts = pointwiseMax(counts, other.counts)
        }
    }

    /// A row in one space of the server.
    struct Row {
        var version: RowPlace.Version
        var isList: Bool
        var values = Values()

        var isAlive: Bool { version.isAlive }
    }

    struct Change {
        enum Kind { case set, copy, delete }
        var kind: Kind
        var row: Int
        var isList: Bool
        var sent: RowPlace.Sent
        var values = Values()
        /// Whether the values are the full row.
        var isWhole = false
    }

    enum Verdict {
        case answer(RowPlace.Answer)
        /// Another change of the group failed.
        case groupFailed
        /// The destination has another row with the same id.
        case idTaken

        var isSuccess: Bool {
            switch self {
            case .answer(.accepted), .answer(.copied): true
            default: false
            }
        }
    }
}
