// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// Handles `POST /health/reports`: running totals of an app's installation, without a token.
///
/// The answer has the number of kept totals. Totals of days in the distant past or in the future are ignored, and the
/// device does not need to send them again.
struct HealthReception: Sendable {
    let store: any HealthStore
    let settings: HealthSettings
    let attempts: any AttemptStore
    let rate: AttemptRate
    let now: @Sendable () -> Date

    /// The device's clock may be wrong, and its time zone may be ahead.
    static let daysAhead = 2

    func receive(_ body: some Sequence<UInt8>, from address: String) async throws -> JSON {
        let owner = AddressOwner.name(of: address)
        guard try await attempts.attempt(.health, owner, rate) == nil, try await allows(.healthTotals, of: owner) else {
            throw RequestProblem(
                type: "about:blank", status: 429, detail: "Too many reports from this address. Try again later.")
        }
        guard let json = try? JSON(parsing: body) else { throw Self.badReport("The body is not valid JSON.") }
        var report: HealthReport
        do { report = try HealthReport(json: json) } catch { throw Self.badReport(error.message) }
        guard report.app == settings.app else {
            throw RequestProblem(
                type: "about:blank", status: 404, detail: "This server collects the health of another app.")
        }
        let given = report.totals.count
        let today = Expiry.day(of: now())
        report.totals.removeAll { !(today - settings.days...today + Self.daysAhead).contains($0.day) }
        var limits = settings
        // Further signatures count as `other`, so that one address cannot fill the list.
        if try await !allows(.healthSignatures, of: owner) { limits.signatures = 0 }
        guard let addition = try await store.keep(report, limits: limits) else {
            throw RequestProblem(
                type: "about:blank", status: 503,
                detail: "The server cannot store more totals of this day. Nothing was stored. Try again later.")
        }
        _ = try await allows(.healthTotals, of: owner, taking: addition.totals)
        _ = try await allows(.healthSignatures, of: owner, taking: addition.signatures)
        return ["kept": .int(Int64(report.totals.count)), "ignored": .int(Int64(given - report.totals.count))]
    }

    /// - Parameter count: How many totals or signatures the address has just added.
    private func allows(_ kind: AttemptKind, of owner: String, taking count: Int = 0) async throws -> Bool {
        let perDay = kind == .healthTotals ? settings.totalsPerAddress : settings.signaturesPerAddress
        let rate = AttemptRate(burst: perDay, interval: .seconds(86_400) / max(1, perDay))
        return try await attempts.attempt(kind, owner, rate, count: count) == nil
    }

    private static func badReport(_ detail: String) -> RequestProblem {
        RequestProblem(type: "about:blank", status: 400, detail: detail)
    }

    func sweep(at date: Date) async throws { try await store.forget(before: Expiry.day(of: date) - settings.days) }
}

extension Routes {
    func addHealthReports(_ reception: HealthReception, to router: Router<ServerContext>) {
        router.post("/health/reports") { request, context in
            let body = try await request.body(upTo: HealthReport.Limit.bytes, deadline: bodyDeadline, context)
            let answer = try await reception.receive(body, from: caller(request, context).address)
            return Response(body: answer.bytes)
        }
    }
}
