// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A backend that keeps rows for several devices. The sync engine talks to it.
///
/// The default is ``JMAPRemote``. A team with its own backend implements this protocol instead. The engine calls `push`
/// and `pull` independently of each other, each at most once at a time. It repeats a call whose answer it did not get:
/// every push is a merge, so repeating it changes nothing.
///
/// The remote numbers its transactions for each account, and gives the number as `seq` in verdicts, in rows of pages
/// and in the row of a refusal. Columns without clocks follow these numbers: the value of the later transaction wins.
/// The remote states its other promises in ``guarantees``.
///
/// Every function throws ``RemoteFailure``, and `CancellationError` when its task is cancelled. Any other error counts
/// as ``RemoteFailure/unreachable(_:)``. A call without an answer after 15 minutes is cancelled and made again, even if
/// the cancelled call has not returned.
public protocol Remote: Sendable {
    /// The account that is signed in at this moment. The engine asks at each write of the app, so the remote must
    /// answer at once, without using disk or network.
    ///
    /// While another account than the file's is signed in, the store refuses writes to the file's synced tables
    /// (`OptimistError` with code `otherAccount`). Default: ``SignInState/unknown``. The engine then learns the account only from
    /// ``connect()``, and treats what the app writes between a sign-in and that call as writes of the file's account.
    var signInState: SignInState { get }

    /// What the remote promises about its cursors and pages. Default: nothing.
    var guarantees: RemoteGuarantees { get }

    /// Tells whose rows the remote keeps. The engine calls it before the first push or pull of each run, and again when sync
    /// goes on after a pause or a failure, after a `protocolError`, a `cursorLost` or a `forked`, and when another account
    /// has signed in. Two calls run at a time only if the first one was cancelled. Calls of the other functions may be under way.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`.
    func connect() async throws -> RemoteAccount

    /// Sends the current state of some rows.
    ///
    /// A device whose tables have counters first asks whether its file went back. It asks with a push without rows,
    /// whose number is that of the last push, or 0. The remote answers without verdicts, or throws
    /// ``RemoteFailure/pushRewound``. A remote that does not know throws ``RemoteFailure/refused(_:)``.
    ///
    /// - Returns: A verdict for each row of the push, in its order, and what else the remote has to tell.
    /// - Throws: ``RemoteFailure``, or `CancellationError`. The rows stay pending then.
    func push(_ push: RemotePush) async throws -> RemotePush.Answer

    /// Asks for the changes after a cursor, in whole transactions and in the server's order. The remote may leave out
    /// what this device has pushed, unless ``guarantees`` says otherwise.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`.
    func pull(_ request: RemotePage.Request) async throws -> RemotePage

    /// Asks for the living rows of one table as they are now, in parts. A device starts this way if it is empty or if
    /// its cursor is too old.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`. The default implementation throws
    ///   ``RemoteFailure/noSnapshots``: the device then starts by ``pull(_:)`` from ``RemoteAccount/initialCursor``.
    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot

    /// Listens for pokes until the connection ends or the task is cancelled.
    ///
    /// - Parameter receive: Called for each poke, on any thread. The first call is ``RemotePoke/alive``, as soon as the
    ///   connection is established.
    /// - Throws: ``RemoteFailure``, or `CancellationError`. A remote that cannot send pokes throws
    ///   ``RemoteFailure/noPokes``: the engine then asks it every minute.
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws
}

extension Remote {
    public var signInState: SignInState { .unknown }
    public var guarantees: RemoteGuarantees { RemoteGuarantees() }

    public func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        throw RemoteFailure.noSnapshots
    }
}

/// Whose rows a remote keeps.
public struct RemoteAccount: Sendable, Hashable {
    /// Names the server and the account, and is the same at every connection. A database file is bound to the first
    /// account that it syncs with.
    public var id: String
    /// The cursor from which an empty device starts.
    public var initialCursor: String
    /// The tables that the remote keeps. The engine asks for no other tables, and no deletion waits for rows of other
    /// tables. Nil, the default: every table.
    public var tables: Set<String>?
    /// The remote's schema. If it lacks a unique index of the app, sync fails, because devices could not agree. Nil,
    /// the default: the remote does not say.
    public var schema: Schema?
    /// How many days the remote remembers a deleted row. After that the device may forget the row too. Nil, the
    /// default: the remote does not say, and the device remembers deleted rows for good.
    public var tombstoneDays: Int?

    /// Makes an account. By default the remote keeps every table, and says nothing about its schema.
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

/// A message that a remote sends unasked. It is a hint and never carries data.
public enum RemotePoke: Sendable, Hashable {
    /// There may be something to pull.
    case changed
    /// The connection is alive.
    case alive
}

/// Why a request to a remote failed. In every case, all pending rows stay pending.
public enum RemoteFailure: Error, Sendable, Hashable {
    /// The request certainly did not arrive, for example because there is no network.
    case notSent(String)
    /// There was no readable answer: a timeout, a broken connection, or a 5xx status. The remote may have carried out
    /// the request.
    case unreachable(String)
    /// The remote asks the engine to wait. The engine waits for an hour at most.
    case throttled(after: Duration)
    /// There is no valid session. Sync waits for a new one.
    case signedOut(String)
    /// The remote does not let this account sync.
    case forbidden(String)
    /// The push was too large as a whole. The engine sends it again in halves.
    case tooLarge(isProtocolLimit: Bool)
    /// The remote refused the push as a whole, without a reason that the protocol knows. The engine sends it again in
    /// halves, to find the row at fault.
    case refused(String)
    /// Another copy of the database has pushed under this device's id with a higher number.
    case pushRewound
    /// The cursor is unknown or too old: the device receives everything again (L4).
    case cursorLost
    /// The remote's database has gone back to a point before the cursor, for example because it was restored from a
    /// backup: see ``RemoteEpoch`` (L3). Empty: the remote does not say how far.
    case forked([RemoteEpoch])
    /// The remote withholds every table of the request, each for its reason. Other tables go on.
    case withheld([String: WithheldReason])
    /// The remote or the device breaks the protocol.
    case protocolError(String)
    /// The remote has no stream of pokes.
    case noPokes
    /// The remote gives no snapshots: a device starts with ordinary pulls.
    case noSnapshots
}
