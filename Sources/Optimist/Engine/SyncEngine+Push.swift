// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore

extension SyncEngine {
    func push(_ rowLimit: Int) async -> SyncMachine.PushOutcome {
        do {
            lastBatch = nil
            var next: PushBatch?
            try await checkForRewind()
            repeat {
                let outlook = try await store.pushOutlook(without: Set(pausedTables.keys))
                guard outlook.isSendable else { return .nothing(nextDue: outlook.nextDue) }
                _ = try await connected()
                next = try await store.nextPush(PushLimit(rows: rowLimit), without: Set(pausedTables.keys))
            } while next == nil
            guard let batch = next else { return .nothing(nextDue: nil) }
            lastBatch = batch
            let roundTrip = RoundTrip(dependencies)
            let answer = try await send(batch)
            let duration = roundTrip()
            pause(answer.withheld)
            guard answer.verdicts.count == batch.sent.count else {
                return .failed(
                    .protocolError("The remote answered \(answer.verdicts.count) of \(batch.sent.count) rows."),
                    rows: 0, units: 0)
            }
            store.capture.settleInherited()
            let verdicts = try await store.believable(answer, of: batch)
            let holdsBack = try await store.apply(verdicts, of: batch, in: answer.epoch)
            try await store.correctClock(by: answer.serverTime, roundTrip: duration)
            tellWaits(answer.verdicts, of: batch)
            return .sent(needsPull: holdsBack || verdicts != answer.verdicts)
        } catch RemoteFailure.notSent {
            return .failed(.transient, rows: 0, units: 0)
        } catch {
            return .failed(
                SyncMachine.Failure(error), rows: lastBatch?.sent.count ?? 0, units: lastBatch?.unitCount ?? 0)
        }
    }

    /// If this launch counts under its own id, asks whether the file was restored from an older copy. Without an
    /// answer, the launch keeps its own id until it exits, and its counts are sent.
    private func checkForRewind() async throws {
        // Avoids a needless connection. `rewindChecks` decides, because connecting may lead to a new device id.
        guard asksForRewind, store.capture.launchOrigin != nil else { return }
        _ = try await connected()
        let checks = try await store.rewindChecks()
        if checks.isEmpty { return }
        do {
            for check in checks {
                let roundTrip = RoundTrip(dependencies)
                let answer = try await remote.push(check)
                try Task.checkCancellation()
                try await store.correctClock(by: answer.serverTime, roundTrip: roundTrip())
            }
            store.countUnderOwnID()
        } catch RemoteFailure.refused, RemoteFailure.tooLarge, RemoteFailure.forbidden, RemoteFailure.protocolError {
            asksForRewind = false
        }
    }

    /// After a cancellation, sends nothing more and ignores the answer: the rows are sent again, perhaps with other
    /// values.
    func send(_ batch: PushBatch) async throws -> RemotePush.Answer {
        do {
            if Task.isCancelled { throw RemoteFailure.notSent("Sync was stopped.") }
            let answer = try await remote.push(batch.push)
            try Task.checkCancellation()
            return answer
        } catch RemoteFailure.notSent(let reason) {
            try await store.recall(batch)
            throw RemoteFailure.notSent(reason)
        } catch {
            try await store.pushEnded(batch)
            throw error
        }
    }

    /// Logs once per run, for each table and reason, which rows the server does not accept yet, so that developers
    /// notice a missing column.
    private func tellWaits(_ verdicts: [RemotePush.Verdict], of batch: PushBatch) {
        for (row, verdict) in zip(batch.push.rows, verdicts) {
            guard case .retry(_, let reason?) = verdict,
                toldWaits.insert(DeferralReason.Place(table: row.table, reason: reason)).inserted
            else { continue }
            logger.warning(
                "The server does not accept some rows yet. They stay pending and will be sent again.",
                metadata: [
                    "sync.table": "\(row.table)", "sync.code": "\(reason.code)",
                    "sync.column": "\(reason.column ?? "")",
                ])
        }
    }

    /// Rejects or holds the only unit of the last push, which the server refused as a whole.
    func setAside(isRejected: Bool) async throws {
        guard let batch = lastBatch, batch.unitCount == 1 else { return }
        if isRejected {
            let refusal = RemotePush.Refusal(
                code: "tooLarge",
                message: batch.sent.count == 1
                    ? "The change is too large or too much work for the server."
                    : "Changes that were written together are too large or too much work for the server.")
            if try await store.refuse(refusal, batch) { poke() }
        } else {
            try await store.hold(batch)
        }
    }
}
