// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A place where rows are kept for several devices: what the sync engine talks to.
///
/// The default is ``JMAPRemote``. A team with a backend of its own implements this protocol instead. The engine calls
/// `push` and `pull` independently of each other, each at most once at a time, and repeats whatever it does not hear of:
/// everything pushed is a merge, so a repetition changes nothing.
///
/// Every function throws ``RemoteFailure``, and `CancellationError` when its task is cancelled. Any other error counts
/// as ``RemoteFailure/unreachable(_:)``.
public protocol Remote: Sendable {
    /// Says whose rows these are. Called before the first push or pull of each run, and after a `protocolError`.
    func connect() async throws -> RemoteAccount

    /// Sends the present state of some rows.
    ///
    /// - Returns: A verdict for each row of the push, in its order.
    func push(_ push: Push) async throws -> [Verdict]

    /// Asks for what has changed after a cursor, in whole transactions in the order of the server.
    func pull(_ request: PullRequest) async throws -> Page

    /// Listens for what the remote says unasked, until the connection ends or the task is cancelled.
    ///
    /// A remote that cannot say anything throws ``RemoteFailure/noPokes``: it is then asked every minute.
    ///
    /// - Parameter receive: Called for each poke, first with ``Poke/alive`` as soon as the connection stands.
    func listen(_ receive: @escaping @Sendable (Poke) -> Void) async throws
}

/// Whose rows a remote keeps.
public struct RemoteAccount: Sendable, Hashable {
    /// Names server and account, the same at every connection. A database file is bound to the first one it syncs with.
    public var id: String
    /// The cursor from which an empty device starts.
    public var initialCursor: String
    /// The tables that the remote keeps, so that others are not asked for. Nil, the default: every table.
    public var tables: Set<String>?

    public init(id: String, initialCursor: String, tables: Set<String>? = nil) {
        self.id = id
        self.initialCursor = initialCursor
        self.tables = tables
    }
}

/// Some rows on their way to the server.
public struct Push: Sendable, Hashable {
    /// One more for each new push of a device.
    public var number: Int64
    public var device: String
    public var rows: [PushRow]
    /// Every id that the device has had, if it counts: answers say under them what sums contain of it. Default: none.
    public var origins: [String]

    public init(number: Int64, device: String, rows: [PushRow], origins: [String] = []) {
        self.number = number
        self.device = device
        self.rows = rows
        self.origins = origins
    }
}

/// The unsent state of one row.
public struct PushRow: Sendable, Hashable {
    public var table: String
    /// The lower-case UUID.
    public var id: String
    public var change: Change

    /// Patches carry a generation and the clocks of their columns.
    public enum Change: Sendable, Hashable {
        case create(RowPatch)
        case update(RowPatch)
        case delete(Tombstone)
    }

    public init(table: String, id: String, change: Change) {
        self.table = table
        self.id = id
        self.change = change
    }
}

/// What the server made of one pushed row.
public enum Verdict: Sendable, Hashable {
    /// Applied as sent, in a transaction of the server.
    case accepted(seq: Int64)
    /// Applied, but these columns of the server's won.
    case merged(seq: Int64, RowPatch)
    /// The row is deleted on the server, in a later life than the one that was sent.
    case gone
    /// Never to be applied.
    case rejected(Refusal)
    /// Not now.
    case retry(after: Duration?)
    /// Not until another row, as `Type:id`, has arrived.
    case blocked(by: String)
}

/// Why a row will never be applied as it was sent.
public struct Refusal: Sendable, Hashable {
    /// A word of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
    public var code: String
    /// The column at fault, if it is one.
    public var column: String?
    /// A sentence for the user.
    public var message: String
    /// The server's row, or nil if it has none.
    public var current: RowPatch?

    public init(code: String, column: String? = nil, message: String, current: RowPatch? = nil) {
        self.code = code
        self.column = column
        self.message = message
        self.current = current
    }
}

/// What a device asks for.
public struct PullRequest: Sendable, Hashable {
    public var tables: [String]
    public var cursor: String
    /// The most rows wanted. The remote may send fewer or, to keep a transaction whole, more.
    public var limit: Int
    /// Every id that the device has had, if it counts: the page says under them what sums contain of it, in `RowPatch.mine`.
    /// Default: none.
    public var origins: [String]

    public init(tables: [String], cursor: String, limit: Int, origins: [String] = []) {
        self.tables = tables
        self.cursor = cursor
        self.limit = limit
        self.origins = origins
    }
}

/// Whole transactions of the server, in their order.
public struct Page: Sendable {
    /// The cursor that was asked from.
    public var from: String
    /// The cursor after this page.
    public var cursor: String
    /// Whether there was more when the page was made.
    public var hasMore: Bool
    public var rows: [PageRow]

    public init(from: String, cursor: String, hasMore: Bool, rows: [PageRow]) {
        self.from = from
        self.cursor = cursor
        self.hasMore = hasMore
        self.rows = rows
    }
}

/// A row as the server has it.
public struct PageRow: Sendable, Hashable {
    public var table: String
    public var id: String
    public var content: Content

    public enum Content: Sendable, Hashable {
        case row(RowPatch)
        case deleted(Tombstone)
    }

    public init(table: String, id: String, content: Content) {
        self.table = table
        self.id = id
        self.content = content
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
    /// Asked to wait.
    case throttled(after: Duration)
    /// There is no valid session. Sync waits for one.
    case signedOut(String)
    /// The account may not be used here.
    case forbidden(String)
    /// The push was too large as a whole. It is sent in halves.
    case tooLarge(isProtocolLimit: Bool)
    /// The push was refused as a whole, without a reason that the protocol knows. It is sent in halves, to find the row.
    case refused(String)
    /// Another database has pushed under this device's id with a higher number.
    case pushRewound
    /// The cursor is unknown or too old: everything is received anew.
    case cursorLost
    /// One of both sides does not keep to the protocol.
    case protocolError(String)
    /// The remote has no stream of pokes.
    case noPokes
}
