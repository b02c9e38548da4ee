// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import GRDBSQLite
import OptimistCore
import OptimistWire

/// The state of one writing connection's transactions, for the SQL functions that the capture triggers call.
///
/// Invariant: every row that a transaction marks gets the transaction's one stamp, and belongs to the transaction's
/// group or to a group joined with it. Counter changes are counted under the id that was current when the transaction
/// began. Places only increase, and so do stamps, except after ``restart(at:)``.
///
/// Used only on the thread that holds the write lock, except for ``launchOrigin``.
final class CaptureContext: Sendable {
    enum Author: Sendable {
        /// Changes by the user are captured; changes by the server are not.
        case user, server
        /// Captures rows that the user wrote while no triggers were installed. Never refuses them.
        case past
    }

    private struct State {
        var clock: HybridClock
        var launchOrigin: String?
        /// The value of `launchOrigin` when the running transaction began.
        var origin: String?
        var author = Author.user
        var stamp: Stamp?
        var milliseconds: Int64 = 0
        var touched: [RowRef]?
        var refused: RefusedRow?
        var group: Int64?
        var lastPlace: Int64 = 0
        var unconfirmedPlace: Int64 = 0
        var joins: Set<GroupJoin> = []
        var sharedTables = SharedTables()
        var spaceWrites = SpaceWrites()

        mutating func giveStamp() -> Stamp {
            if let stamp { return stamp }
            let given = clock.tick(milliseconds: milliseconds)
            stamp = given
            return given
        }
    }

    private let state: Mutex<State>

    init(clock: HybridClock) { state = Mutex(State(clock: clock)) }

    /// - Parameters:
    ///   - milliseconds: The time for the transaction's stamp, in milliseconds since 1970.
    ///   - collecting: Whether to record ``touched``.
    func begin(as author: Author, milliseconds: Int64, collecting: Bool = false) {
        state.withLock { state in
            state.author = author
            state.origin = state.launchOrigin
            state.stamp = nil
            state.milliseconds = milliseconds
            state.touched = collecting ? [] : nil
            state.refused = nil
            state.group = nil
            state.joins = []
            state.spaceWrites = SpaceWrites()
        }
    }

    /// Notes the tables whose rows can be in a space, when the file opens.
    func share(_ tables: SharedTables) { state.withLock { $0.sharedTables = tables } }

    /// The running transaction's writes to these tables.
    var spaceWrites: SpaceWrites { state.withLock { $0.spaceWrites } }

    /// The running transaction's stamp, made by the first call.
    func stamp() -> Stamp {
        state.withLock { $0.giveStamp() }
    }

    /// Nil if the running transaction has not changed a synced row.
    var usedStamp: Stamp? { state.withLock { $0.stamp } }

    /// The last stamp issued or seen.
    var lastStamp: Stamp { state.withLock { $0.clock.last } }

    /// The distinct rows touched since `begin`, in the order of the first touch.
    var touched: [RowRef] {
        state.withLock { state in
            var seen: Set<RowRef> = []
            return (state.touched ?? []).filter { seen.insert($0).inserted }
        }
    }

    /// Returns the group for a row that the running transaction makes pending or changes again (S2).
    ///
    /// The first row determines the transaction's group: the row's group if it is already pending, otherwise a new one.
    /// A later row that is pending in another group keeps that group, and the two groups are joined.
    ///
    /// - Parameter present: The row's group. Nil if the row is not pending.
    func group(present: Int64?) -> Int64 {
        state.withLock { state in
            let stamp = state.giveStamp().rawValue
            guard let group = state.group else {
                state.group = present ?? stamp
                return present ?? stamp
            }
            guard let present, present != group else { return group }
            state.joins.insert(GroupJoin(present, group))
            return present
        }
    }

    /// Returns a place, greater than all earlier places, for a row that becomes unsent.
    func place() -> Int64 {
        state.withLock { state in
            state.lastPlace = max(state.lastPlace + 1, state.giveStamp().rawValue)
            return state.lastPlace
        }
    }

    /// Nil if the running transaction has not changed a synced row.
    var usedGroup: Int64? { state.withLock { $0.group } }

    var joins: Set<GroupJoin> { state.withLock { $0.joins } }

    /// Makes the next stamp later than this one.
    func witness(_ stamp: Stamp) { state.withLock { $0.clock.witness(stamp) } }

    /// Continues from the file's ceiling. No stamp that was issued or seen exceeds it.
    func resume(from ceiling: Stamp) { state.withLock { $0.clock = HybridClock(last: ceiling) } }

    /// Sets the clock back to an earlier stamp, because the clock ran far ahead (M4).
    func restart(at stamp: Stamp) { state.withLock { $0.clock = HybridClock(last: stamp) } }

    /// The id that this launch counts under: see ``LaunchOrigin``. Nil: the device's id.
    var launchOrigin: String? { state.withLock { $0.launchOrigin } }

    /// Sets ``launchOrigin`` for later transactions. A running transaction keeps its id. Safe to call from any thread.
    func count(under launchOrigin: String?) { state.withLock { $0.launchOrigin = launchOrigin } }

    /// Records the last place from before this launch. Until the server confirms that the file was not restored from an
    /// older copy, the server may have received any edit up to that place (L3).
    func inherit(through place: Int64) { state.withLock { $0.unconfirmedPlace = place } }

    /// Records that the edits' `sent` masks are reliable again: the server has confirmed the file, or the file has a
    /// new device id.
    func settleInherited() { state.withLock { $0.unconfirmedPlace = 0 } }

    fileprivate var unconfirmedPlace: Int64 { state.withLock { $0.unconfirmedPlace } }

    private var origin: String? { state.withLock { $0.origin } }

    var refused: RefusedRow? { state.withLock { $0.refused } }

    fileprivate func refuse(_ row: RefusedRow) { state.withLock { $0.refused = row } }

    fileprivate var isJudging: Bool { state.withLock { $0.author == .user } }

    var isApplying: Bool { state.withLock { $0.author == .server } }

    fileprivate func capture(_ row: WrittenRow?, _ ref: () -> RowRef?) -> Int64? {
        state.withLock { state in
            if state.author == .server { return nil }
            if state.touched != nil, let ref = ref() { state.touched?.append(ref) }
            if let row { state.sharedTables.note(row, in: &state.spaceWrites) }
            return state.giveStamp().rawValue
        }
    }
}

extension CaptureContext {
    /// Registers the SQL functions that the triggers call. The connection retains the context until it closes.
    ///
    /// Uses SQLite's C interface, because GRDB boxes every argument and the functions run several times for each row.
    ///
    /// > Source: SQLite, "Create Or Redefine SQL Functions".
    func install(on db: Database) throws {
        try register(CaptureTriggers.function, arguments: -1, on: db) { call, count, arguments in
            let context = Unmanaged<CaptureContext>.fromOpaque(sqlite3_user_data(call)).takeUnretainedValue()
            let row =
                count > 3 && context.isJudging
                ? WrittenRow(UnsafeBufferPointer(start: arguments, count: Int(count))) : nil
            if let refused = row.flatMap(RefusedRow.init) {
                context.refuse(refused)
                return sqlite3_result_error(call, refused.message, -1)
            }
            let stamp = context.capture(row) {
                guard let arguments, let id = arguments[1] else { return nil }
                return RowRef(table: sqlite3_value_int64(arguments[0]), id: ValueView(id).databaseValue)
            }
            if let stamp { sqlite3_result_int64(call, stamp) } else { sqlite3_result_null(call) }
        }
        try register("optimist_group", arguments: 1, on: db) { call, _, arguments in
            let context = Unmanaged<CaptureContext>.fromOpaque(sqlite3_user_data(call)).takeUnretainedValue()
            guard let present = arguments?[0] else { return sqlite3_result_null(call) }
            let isPending = sqlite3_value_type(present) != SQLITE_NULL
            sqlite3_result_int64(call, context.group(present: isPending ? sqlite3_value_int64(present) : nil))
        }
        try register("optimist_place", arguments: 0, on: db) { call, _, _ in
            let context = Unmanaged<CaptureContext>.fromOpaque(sqlite3_user_data(call)).takeUnretainedValue()
            sqlite3_result_int64(call, context.place())
        }
        try register("optimist_unconfirmed", arguments: 0, on: db) { call, _, _ in
            let context = Unmanaged<CaptureContext>.fromOpaque(sqlite3_user_data(call)).takeUnretainedValue()
            sqlite3_result_int64(call, context.unconfirmedPlace)
        }
        try register("optimist_witness", arguments: 1, on: db) { call, _, arguments in
            let context = Unmanaged<CaptureContext>.fromOpaque(sqlite3_user_data(call)).takeUnretainedValue()
            if let stamp = arguments?[0] { context.witness(Stamp(rawValue: sqlite3_value_int64(stamp))) }
            sqlite3_result_null(call)
        }
        try register("optimist_former", arguments: -1, on: db) { call, count, arguments in
            FormerValues(arguments: UnsafeBufferPointer(start: arguments, count: Int(count))).json.withUnsafeBytes {
                bytes in
                let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                sqlite3_result_text64(call, start, UInt64(bytes.count), RowStatement.transient, UInt8(SQLITE_UTF8))
            }
        }
        try register("optimist_is_literal", arguments: 2, on: db) { call, _, arguments in
            guard let arguments, case .text(let literal) = ValueView(arguments[0]) else {
                return sqlite3_result_int(call, 0)
            }
            sqlite3_result_int(call, SQLLiteral.isLiteral(literal, of: ValueView(arguments[1])) ? 1 : 0)
        }
        db.add(function: DatabaseFunction("optimist_origin", argumentCount: 0) { [self] _ in origin })
        try register("optimist_applying", arguments: 0, on: db) { call, _, _ in
            let context = Unmanaged<CaptureContext>.fromOpaque(sqlite3_user_data(call)).takeUnretainedValue()
            sqlite3_result_int(call, context.isApplying ? 1 : 0)
        }
    }

    private typealias Function = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    private func register(_ name: String, arguments: Int32, on db: Database, _ function: Function) throws {
        let code = sqlite3_create_function_v2(
            db.sqliteConnection, name, arguments, SQLITE_UTF8, Unmanaged.passRetained(self).toOpaque(), function, nil,
            nil
        ) { context in
            if let context { Unmanaged<CaptureContext>.fromOpaque(context).release() }
        }
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}

extension Database {
    /// Makes every later stamp of this writing connection later than a stamp that the engine issued itself.
    func witness(_ stamp: Stamp) throws {
        try cachedStatement(sql: "SELECT optimist_witness(?)").execute(arguments: [stamp.rawValue])
    }
}
