// This source file is part of the Optimist open source project, under the MIT licence.

extension Accounts {
    /// The account and session that a request is about, as far as they are known.
    struct Subject: Sendable {
        var account: String?
        var session: String?
    }

    /// Runs an operation that may be refused.
    ///
    /// Every refusal writes one line to the security log here, and only here, so each account operation must run inside
    /// this function.
    ///
    /// - Parameters:
    ///   - event: The log's name for a refusal. Too many attempts are always `throttled`.
    ///   - subject: The known parts of the account and session. `work` can add further parts.
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
