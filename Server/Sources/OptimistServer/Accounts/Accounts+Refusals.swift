// This source file is part of the Optimist open source project, under the MIT licence.

/// Refusing, which the operator must be able to see.
extension Accounts {
    /// Whom a request is about, as far as that is known by now.
    struct Subject: Sendable {
        var account: String?
        var session: String?
    }

    /// Carries out what may be refused.
    ///
    /// Each refusal that leaves here writes one line to the security log, whatever its reason, and nothing else writes one
    /// about refusals. So each of the account's operations runs in here as a whole.
    ///
    /// - Parameters:
    ///   - event: What the line calls a refusal. One for too many attempts is `throttled` everywhere.
    ///   - subject: Whom it is about. `work` adds what it finds out.
    func refusing<Value>(
        as event: SecurityLog.Event, _ caller: Caller, about subject: Subject = Subject(),
        _ work: (inout Subject) async throws -> Value
    ) async throws -> Value {
        var subject = subject
        do {
            return try await work(&subject)
        } catch let refusal as AuthRefusal {
            log.note(
                refusal.isForTooMany ? .throttled : event, caller, account: subject.account, session: subject.session)
            throw refusal
        }
    }
}
