// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

/// What the server refused lately, for the operator: ids and codes, and no value that a user wrote. It is in the memory of
/// this process only, and bounded.
final class RecentRefusals: Sendable {
    struct Refusal: Sendable {
        var time: Date
        /// Nil: the server does not know it, or not yet.
        var account: String?
        /// The template of the route.
        var route: String
        /// The row's type and id. Nil: the request was refused as a whole.
        var row: RowKey?
        /// The type of the error, as the client gets it.
        var code: String
        /// The status of the answer. It is 200 if the request was carried out and the row refused.
        var status: Int
    }

    private struct Ring {
        var refusals: [Refusal] = []
        /// Where the next one goes, once there are as many as may be.
        var next = 0
    }

    /// The most refusals that are kept. Older ones go.
    static let limit = 500
    /// Clients choose the ids and the codes of an app. Longer texts are cut.
    private static let maxText = 100

    private let ring = Mutex(Ring())
    private let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// The newest first.
    var all: [Refusal] {
        let ring = ring.withLock(\.self)
        return (ring.refusals[ring.next...] + ring.refusals[..<ring.next]).reversed()
    }

    func add(_ report: SetReport, account: String) {
        let time = now()
        for refusal in report.refusals {
            add(
                Refusal(
                    time: time, account: account, route: "/jmap",
                    row: RowKey(Self.cut(refusal.key.type), Self.cut(refusal.key.id)), code: Self.cut(refusal.code),
                    status: 200))
        }
    }

    func add(_ code: String, status: Int, route: String, account: String?) {
        add(
            Refusal(
                time: now(), account: account, route: route, row: nil, code: Self.cut(code), status: status))
    }

    private func add(_ refusal: Refusal) {
        ring.withLock { ring in
            if ring.refusals.count < Self.limit { return ring.refusals.append(refusal) }
            ring.refusals[ring.next] = refusal
            ring.next = (ring.next + 1) % Self.limit
        }
    }

    private static func cut(_ text: String) -> String { String(text.prefix(maxText)) }
}

/// Notes the requests that are refused as a whole. A token that has expired is no news: every device refreshes it.
struct RefusalWatch: RouterMiddleware {
    let refusals: RecentRefusals

    func handle(
        _ request: Hummingbird.Request, context: ServerContext,
        next: @concurrent (Hummingbird.Request, ServerContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        do {
            return try await next(request, context)
        } catch {
            if let (code, status) = Self.reason(error) {
                refusals.add(code, status: status, route: context.endpointPath ?? "NotFound", account: nil)
            }
            throw error
        }
    }

    private static func reason(_ error: any Error) -> (String, Int)? {
        switch error {
        case let problem as RequestProblem: (problem.code, problem.status)
        case let refusal as AuthRefusal: (refusal.reason ?? refusal.error, refusal.status)
        case let unauthorized as Unauthorized: unauthorized.end.map { ($0.rawValue, 401) }
        case let failure as any StorageFailure: ("\(failure.code.value)", 503)
        default: nil
        }
    }
}

extension RequestProblem {
    /// The last part of the type, or what its status is called.
    fileprivate var code: String {
        if type == "about:blank" { return HTTPResponse.Status(code: status).reasonPhrase }
        return type.split(separator: ":").last.map(String.init) ?? type
    }
}
