// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

/// The latest refusals of this process. They contain ids and codes, never values that users wrote.
final class RecentRefusals: Sendable {
    struct Refusal: Sendable {
        var time: Date
        /// Nil if the account was not known, or not yet known, when the request was refused.
        var account: String?
        /// The route's template.
        var route: String
        /// Nil if the entire request was refused.
        var row: RowKey?
        var code: String
        /// 200 if the request was carried out but the row was refused.
        var status: Int
    }

    private struct Ring {
        var refusals: [Refusal] = []
        /// The index to overwrite when the ring is full.
        var next = 0
    }

    static let limit = 500
    /// Clients choose ids and apps choose codes, so longer texts are truncated.
    private static let maxText = 100

    private let ring = Mutex(Ring())
    private let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// Newest first.
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

/// Records requests that are refused entirely, but not requests with expired tokens, which every device sends
/// regularly.
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
    fileprivate var code: String {
        if type == "about:blank" { return HTTPResponse.Status(code: status).reasonPhrase }
        return type.split(separator: ":").last.map(String.init) ?? type
    }
}
