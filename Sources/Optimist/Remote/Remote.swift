// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A backend that the sync engine exchanges rows with.
///
/// The default is ``JMAPRemote``. Implement this protocol to use your own backend. The engine calls `push` and `pull`
/// concurrently, but each at most once at a time. It repeats a call if the answer is lost: every push is a merge, so
/// repeating it changes nothing.
///
/// The remote numbers the transactions of each account, and reports the number as `seq` in verdicts, in rows of pages
/// and in the row of a refusal. For columns without clocks, the value of the later transaction wins. ``guarantees``
/// states the remote's other promises.
///
/// Functions throw ``RemoteFailure``, or `CancellationError` when their task is cancelled. Any other error counts as
/// ``RemoteFailure/unreachable(_:)``. The engine cancels a call without an answer after 15 minutes and repeats it, even
/// if the cancelled call has not returned.
public protocol Remote: Sendable {
    /// The account that is signed in now. The engine asks at each write of the app, so the answer must be immediate,
    /// without disk or network access.
    ///
    /// While an account other than the file's is signed in, writes to synced tables throw `OptimistError` with code
    /// `otherAccount`. Default: ``SignInState/unknown``. The engine then learns the account only from ``connect()``,
    /// and attributes writes between a sign-in and that call to the file's account.
    var signInState: SignInState { get }

    /// The remote's promises about its cursors and pages. Default: none.
    var guarantees: RemoteGuarantees { get }

    /// Connects, and returns the account. The engine calls this before the first push or pull of each run, after a
    /// pause or a failure, after a `protocolError`, a `cursorLost` or a `forked`, and when another account has signed
    /// in. Calls may overlap with calls of other functions, but with another `connect()` only if that call was
    /// cancelled.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`.
    func connect() async throws -> RemoteAccount

    /// Sends the current state of rows.
    ///
    /// A device with counters first asks whether its file was restored from an older copy. It sends a push without
    /// rows. This push has the number of the last push, or 0. The remote answers without verdicts or throws
    /// ``RemoteFailure/pushRewound``. A remote that cannot tell throws ``RemoteFailure/refused(_:)``.
    ///
    /// - Returns: One verdict per row, in the order of the push, and further information.
    /// - Throws: ``RemoteFailure``, or `CancellationError`. The rows then stay pending.
    func push(_ push: RemotePush) async throws -> RemotePush.Answer

    /// Returns the changes after a cursor: entire transactions in the server's order. The remote may omit this device's
    /// own changes, unless ``guarantees`` says otherwise.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`.
    func pull(_ request: RemotePage.Request) async throws -> RemotePage

    /// Pulls several spaces at once, one page of each. The engine requests as many tables as fit one JMAP request, 64.
    /// It uses spaces only if ``guarantees`` has both promises.
    ///
    /// - Returns: A page or a failure for each request, in their order, so that a space in trouble stops no other
    ///   space. The default implementation calls ``pull(_:)`` for one request after the other.
    /// - Throws: ``RemoteFailure`` if all requests failed for one reason, or `CancellationError`.
    func pullAll(_ requests: [RemotePage.Request]) async throws -> [Result<RemotePage, RemoteFailure>]

    /// Returns which of the person's spaces have changed, so that the engine pulls only these.
    ///
    /// - Parameter cursors: The cursor of each space, by the space's lower-case UUID.
    /// - Returns: The default implementation returns that all spaces have changed.
    /// - Throws: ``RemoteFailure``, or `CancellationError`.
    func changedSpaces(since cursors: [String: String]) async throws -> ChangedSpaces

    /// Returns the contents of an invitation, for a person who may be signed out and is not a member.
    ///
    /// - Returns: Nil if the link does not admit anyone.
    /// - Throws: ``RemoteFailure``, or `CancellationError`. The default implementation throws
    ///   ``RemoteFailure/refused(_:)``.
    func preview(of link: InvitationLink) async throws -> InvitationPreview?

    /// Returns a part of the current rows of a table, without deleted rows. A device starts with snapshots if it is
    /// empty or if its cursor is too old.
    ///
    /// - Throws: ``RemoteFailure``, or `CancellationError`. The default implementation throws
    ///   ``RemoteFailure/noSnapshots``: the device then starts with ``pull(_:)`` from ``RemoteAccount/initialCursor``.
    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot

    /// Listens for pokes until the connection ends or the task is cancelled.
    ///
    /// - Parameter receive: Called for each poke, on any thread. The first poke is ``RemotePoke/alive``, as soon as the
    ///   connection is established.
    /// - Throws: ``RemoteFailure``, or `CancellationError`. A remote without pokes throws ``RemoteFailure/noPokes``:
    ///   the engine then pulls every minute.
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws
}

extension Remote {
    public var signInState: SignInState { .unknown }
    public var guarantees: RemoteGuarantees { RemoteGuarantees() }

    public func pullAll(_ requests: [RemotePage.Request]) async throws -> [Result<RemotePage, RemoteFailure>] {
        var pages: [Result<RemotePage, RemoteFailure>] = []
        for request in requests {
            do { pages.append(.success(try await pull(request))) } catch let failure as RemoteFailure
                where failure.isOfOneAccount
            {
                pages.append(.failure(failure))
            }
        }
        return pages
    }

    public func changedSpaces(since cursors: [String: String]) async throws -> ChangedSpaces {
        ChangedSpaces(changed: Set(cursors.keys))
    }

    public func preview(of link: InvitationLink) async throws -> InvitationPreview? {
        throw RemoteFailure.refused("The remote does not preview invitations.")
    }

    public func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        throw RemoteFailure.noSnapshots
    }
}

/// An account on a remote.
public struct RemoteAccount: Sendable, Hashable {
    /// Identifies the server and the account, and is the same at every connection. A database file is bound to the
    /// first account that it syncs with.
    public var id: String
    /// The id of the person's own account, as the destination of a moved row names it. Default: nil, if rows do not
    /// move.
    public var ownAccount: String?
    /// The cursor that an empty device starts from.
    public var initialCursor: String
    /// The remote's tables. The engine requests only these, and deletions do not wait for rows of other tables. Nil,
    /// the default, means every table.
    public var tables: Set<String>?
    /// The remote's schema. If it lacks a unique index of the app, sync fails, because devices could not agree.
    /// Default: nil, unknown.
    public var schema: Schema?
    /// How many days the remote remembers deleted rows. Afterwards the device may forget them as well. Default: nil,
    /// unknown, and the device remembers them forever.
    public var tombstoneDays: Int?

    /// Creates an account, by default with every table and an unknown schema.
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

/// An unsolicited message from a remote: a hint that never carries data.
public enum RemotePoke: Sendable, Hashable {
    /// There may be changes to pull.
    case changed
    /// The connection is alive.
    case alive
}

/// Why a request to a remote failed. Pending rows always stay pending.
public enum RemoteFailure: Error, Sendable, Hashable {
    /// The request definitely did not arrive, for example because there is no network.
    case notSent(String)
    /// There was no readable answer: a timeout, a broken connection or a 5xx status. The remote may have processed the
    /// request.
    case unreachable(String)
    /// The remote asks the engine to wait. The engine waits at most an hour.
    case throttled(after: Duration)
    /// The session is not valid. Sync waits for a new one.
    case signedOut(String)
    /// The remote does not allow this account to sync.
    case forbidden(String)
    /// The person may no longer use the requested space.
    case accessEnded(EndedAccess)
    /// The remote does not know the requested space, or does not say so to this person. The device keeps its rows.
    case spaceNotFound
    /// The push was too large. The engine resends it in halves.
    case tooLarge(isProtocolLimit: Bool)
    /// The remote refused the entire push, for a reason unknown to the protocol. The engine resends it in halves to
    /// find the row at fault.
    case refused(String)
    /// Another copy of the database has used this device's id for a push with a higher number.
    case pushRewound
    /// The cursor is unknown or too old. The device receives everything again (L4).
    case cursorLost
    /// The remote's database was restored to a point before the cursor, for example from a backup: see ``RemoteEpoch``
    /// (L3). The list is empty if the remote does not know how far its database went back.
    case forked([RemoteEpoch])
    /// The remote withholds every requested table, for these reasons. Other tables are not affected.
    case withheld([String: WithheldReason])
    /// The remote or the device violated the protocol.
    case protocolError(String)
    /// The remote does not send pokes.
    case noPokes
    /// The remote does not support snapshots. A device starts with ordinary pulls.
    case noSnapshots
}

extension RemoteFailure {
    /// Whether the failure concerns only the requested tables of one account.
    fileprivate var isOfOneAccount: Bool {
        switch self {
        case .accessEnded, .spaceNotFound, .cursorLost, .forked, .withheld: true
        default: false
        }
    }
}
