// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A place where rows are kept for several devices: what the sync engine talks to.
///
/// The default is ``JMAPRemote``. A team with a backend of its own implements this protocol instead. The engine calls
/// `push` and `pull` independently of each other, each at most once at a time, and repeats a call whose answer it did
/// not get: everything pushed is a merge, so a repetition changes nothing.
///
/// The remote numbers its transactions for each account, and gives the number as `seq` in verdicts, in rows of pages
/// and in the row of a refusal. Columns without clocks follow these numbers: of two values the one of the later
/// transaction stands. What else the remote promises it says in ``guarantees``.
///
/// Every function throws ``RemoteFailure``, and `CancellationError` when its task is cancelled. Any other error counts
/// as ``RemoteFailure/unreachable(_:)``. A call without an answer after 15 minutes is cancelled and made again, even if
/// the cancelled call has not returned.
public protocol Remote: Sendable {
    /// The account that is signed in at this moment. The engine asks at each write of the app, so the remote must
    /// answer at once: no disk, no network.
    ///
    /// While it is another account than the one that a file belongs to, writes to the file's synced tables are refused
    /// (`OptimistError` with code `otherAccount`). Default: ``SignedIn/unknown``. The engine then learns it from
    /// ``connect()`` only, and counts what the app writes between a sign-in and that call as the file's own.
    var signedIn: SignedIn { get }

    /// What the remote promises of its cursors and pages. Default: nothing.
    var guarantees: RemoteGuarantees { get }

    /// Says whose rows these are. The engine calls it before the first push or pull of each run, after a
    /// `protocolError`, and when another account has signed in. No other call is under way then, unless it was
    /// cancelled or is of another account.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`.
    func connect() async throws -> RemoteAccount

    /// Sends the present state of some rows.
    ///
    /// A device whose tables have counters first asks whether its file went back, by a push without rows that has the
    /// number of the last one, or 0. The answer has no verdicts, or is ``RemoteFailure/pushRewound``. A remote that
    /// does not know throws ``RemoteFailure/refused(_:)``.
    ///
    /// - Returns: A verdict for each row of the push, in its order, and what else the remote has to say.
    /// - Throws: ``RemoteFailure``, or `CancellationError`. The rows stay pending then.
    func push(_ push: Push) async throws -> PushAnswer

    /// Asks for what changed after a cursor, in whole transactions in the order of the server. The remote may leave out
    /// what this device has pushed, unless ``guarantees`` says otherwise.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`.
    func pull(_ request: PullRequest) async throws -> Page

    /// Asks for the living rows of one table as they are now, in parts. An empty device starts so, and a device whose
    /// cursor is too old.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`. The default implementation throws
    ///   ``RemoteFailure/noSnapshots``: the device then starts by ``pull(_:)`` from ``RemoteAccount/initialCursor``.
    func snapshot(_ request: SnapshotRequest) async throws -> SnapshotPage

    /// Listens for pokes until the connection ends or the task is cancelled.
    ///
    /// - Parameter receive: Called for each poke, first with ``Poke/alive`` as soon as the connection stands. It may be
    ///   called on any thread.
    /// - Throws: ``RemoteFailure``, or `CancellationError`. A remote that cannot send pokes throws
    ///   ``RemoteFailure/noPokes``: the engine then asks it every minute.
    func listen(_ receive: @escaping @Sendable (Poke) -> Void) async throws
}

extension Remote {
    public var signedIn: SignedIn { .unknown }
    public var guarantees: RemoteGuarantees { RemoteGuarantees() }

    public func snapshot(_ request: SnapshotRequest) async throws -> SnapshotPage { throw RemoteFailure.noSnapshots }
}

/// Whose rows a remote keeps.
public struct RemoteAccount: Sendable, Hashable {
    /// Names server and account, and is the same at every connection. A database file is bound to the first account
    /// that it syncs with.
    public var id: String
    /// The cursor from which an empty device starts.
    public var initialCursor: String
    /// The tables that the remote keeps. The engine asks for no others, and no deletion waits for what they may bring.
    /// Nil, the default: every table.
    public var tables: Set<String>?
    /// What the remote says of its tables. If a unique index of the app is not in it, sync fails, since devices could
    /// not agree. Nil, the default: the remote does not say.
    public var schema: Schema?
    /// How many days the remote remembers a deleted row, so that the device may forget it too. Nil, the default: it
    /// does not say, and the device remembers it for good.
    public var tombstoneDays: Int?

    /// Makes an account. By default the remote keeps every table, and says nothing of its schema.
    public init(
        id: String, initialCursor: String, tables: Set<String>? = nil, schema: Schema? = nil,
        tombstoneDays: Int? = nil
    ) {
        self.id = id
        self.initialCursor = initialCursor
        self.tables = tables
        self.schema = schema
        self.tombstoneDays = tombstoneDays
    }
}

/// Some rows on their way to the server.
public struct Push: Sendable, Hashable {
    /// The number of the push: one more for each new push of a device that has rows.
    public var number: Int64
    /// The id of the device, 1 to 64 ASCII letters and digits.
    public var device: String
    /// The rows to send, each once.
    public var rows: [PushRow]
    /// Ranges of ``rows`` that the server applies together: either all rows of a range or none. Default: each row on
    /// its own.
    public var groups: [Range<Int>]
    /// Every id under which the device counts or has counted, if it does. Answers say under these ids what the sums
    /// contain of its own counting. Default: none.
    public var origins: [String]

    /// Makes a push, by default without groups and counters.
    public init(
        number: Int64, device: String, rows: [PushRow], groups: [Range<Int>] = [], origins: [String] = []
    ) {
        self.number = number
        self.device = device
        self.rows = rows
        self.groups = groups
        self.origins = origins
    }
}

/// The unsent state of one row.
public struct PushRow: Sendable, Hashable {
    /// The table of the row.
    public var table: String
    /// The row's lower-case UUID.
    public var id: String
    /// What the server is asked to do with the row.
    public var change: Change

    /// What the server is asked to do with the row. Patches carry a generation and the clocks of their columns.
    public enum Change: Sendable, Hashable {
        /// To create the row. If the server has it already, it merges the columns.
        case create(RowPatch)
        /// To merge these columns into the row.
        case update(RowPatch)
        /// To delete the row.
        case delete(Tombstone)
    }

    /// Makes a row of a push.
    public init(table: String, id: String, change: Change) {
        self.table = table
        self.id = id
        self.change = change
    }

    /// The row as `Type:id`.
    var name: String { "\(table):\(id)" }
}

/// What the server made of one pushed row.
public enum Verdict: Sendable, Hashable {
    /// Applied as sent, in a transaction of the server.
    case accepted(seq: Int64)
    /// Applied, but these columns of the server's won.
    case merged(seq: Int64, RowPatch)
    /// Applied to another row of the server's, which has the values of a unique index that this one was to have: the
    /// two are one from now on, under the other one's id (M6).
    case mergedInto(seq: Int64, winner: String)
    /// The row is deleted on the server, in a later life than the one that was sent: so it was after this transaction.
    /// A server that can go back also says how it was deleted, so that the device can tell it that again (L3). Nil: the
    /// server does not say.
    case gone(seq: Int64, Tombstone? = nil)
    /// Never to be applied.
    case rejected(Refusal)
    /// Not now: the row stays pending, and is sent again after this time, at most a day. Nil: the engine chooses. With what
    /// keeps the server from taking it, which the app is told. Nil, the default: it does not say.
    case retry(after: Duration?, WaitReason? = nil)
    /// Not of a part of the row: the server does not know the life that it is of, or nothing of that but its end.
    case lifeUnknown
    /// Not until another row, as `Type:id`, has arrived.
    case blocked(by: String)
    /// Not applied, since other rows of its group, as `Type:id`, were not. What the server has of the row, if the push
    /// deletes it.
    case groupFailed(by: [String], current: RowPatch?)
}

/// Why a row will never be applied as it was sent.
public struct Refusal: Sendable, Hashable {
    /// A word of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
    public var code: String
    /// The column at fault, if it is one.
    public var column: String?
    /// A sentence for the user.
    public var message: String
    /// The server's row, or nil if it has none. If it is nil after a refused deletion, or after a refused next life of
    /// a row, the device receives the whole table again.
    public var current: RowPatch?
    /// All columns at fault, such as those of a unique index.
    public var columns: [String]
    /// After a `uniqueViolation`: the id of the row that has the values, as the wire has it. Nil: it is not known.
    public var winner: String?

    /// Makes a refusal.
    ///
    /// - Parameters:
    ///   - code: A word of the protocol.
    ///   - column: The column at fault. Default: the first of `columns`.
    ///   - message: A sentence for the user.
    ///   - current: The server's row. Default: it has none.
    ///   - columns: All columns at fault. Default: `column`.
    ///   - winner: The id of the row that has the unique values. Default: unknown.
    public init(
        code: String, column: String? = nil, message: String, current: RowPatch? = nil, columns: [String] = [],
        winner: String? = nil
    ) {
        self.code = code
        self.column = column ?? columns.first
        self.message = message
        self.current = current
        self.columns = columns.isEmpty ? [column].compactMap(\.self) : columns
        self.winner = winner
    }
}

/// What a remote says unasked. A hint, never data.
public enum Poke: Sendable, Hashable {
    /// There may be something to pull.
    case changed
    /// The connection is alive.
    case alive
}

/// Why a request to a remote came to nothing. In every case all that was pending stays pending.
public enum RemoteFailure: Error, Sendable, Hashable {
    /// Certainly nothing arrived: there was no connection, as without a network.
    case notSent(String)
    /// No answer, or none that can be read: timed out, broken off, 5xx. The request may have been done.
    case unreachable(String)
    /// Asked to wait. The engine waits for an hour at most.
    case throttled(after: Duration)
    /// There is no valid session. Sync waits for one.
    case signedOut(String)
    /// The account may not be used here.
    case forbidden(String)
    /// The push was too large as a whole. It is sent in halves.
    case tooLarge(isProtocolLimit: Bool)
    /// The push was refused as a whole, without a reason that the protocol knows. It is sent in halves, to find the
    /// row.
    case refused(String)
    /// Another database has pushed under this device's id with a higher number.
    case pushRewound
    /// The cursor is unknown or too old: the device receives everything again (L4).
    case cursorLost
    /// The remote's database has gone back, as from a backup, to before the cursor: see ``RemoteEpoch`` (L3). Empty: it
    /// does not say how far.
    case forked([RemoteEpoch])
    /// The remote serves these tables to a newer version of the app only. The others go on.
    case upgradeRequired(Set<String>)
    /// One of both sides does not keep to the protocol.
    case protocolError(String)
    /// The remote has no stream of pokes.
    case noPokes
    /// The remote gives no snapshots: a device starts by ordinary pulls.
    case noSnapshots
}
