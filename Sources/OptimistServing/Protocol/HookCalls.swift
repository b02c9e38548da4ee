// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import OptimistCore
import OptimistWire

/// Calls a ``GroupHook`` for one request. Only the transaction's thread uses it, and each call blocks that thread.
final class HookCalls {
    enum Answer {
        case amended([RowAmendment])
        case refused(RowFault)
        case putOff(GroupHook.Failure)
    }

    private let hook: GroupHook
    private let device: String?
    private var left: Duration

    init(_ hook: GroupHook, device: String?) {
        self.hook = hook
        self.device = device
        left = hook.deadline
    }

    /// - Parameter role: The writer's role in the account, if it is a space and the writer a person.
    func ask(_ rows: [WrittenRow], of account: String, by writer: Writer, _ role: Role?) -> Answer {
        guard left > .zero else { return .putOff(.late) }
        let begun = ContinuousClock.now
        let result = wait(
            for: WrittenGroup(account: account, device: device, writer: writer, role: role?.rawValue, rows: rows))
        left -= ContinuousClock.now - begun
        switch result {
        case .success(let amendments)?: return .amended(amendments)
        case .failure(let fault as RowFault)?: return .refused(fault)
        case .failure(let error)?: return .putOff(.threw(error))
        case nil:
            left = .zero
            return .putOff(.late)
        }
    }

    func failed(_ failure: GroupHook.Failure) { hook.onFailure(failure) }

    /// Blocks the thread. If the time runs out, cancels the call and returns nil.
    private func wait(for group: WrittenGroup) -> Result<[RowAmendment], any Error>? {
        let call = Call()
        // A store's work is synchronous. The thread waits until the task ends, or until the timeout cancels the task.
        let task = Task.detached { [hook] in
            let result: Result<[RowAmendment], any Error>
            do { result = .success(try await hook.willApply(group)) } catch { result = .failure(error) }
            call.end(result)
        }
        guard let result = call.wait(left) else {
            task.cancel()
            return nil
        }
        return result
    }

    /// Passes a call's result to the waiting thread.
    private final class Call: Sendable {
        private let result = Mutex<Result<[RowAmendment], any Error>?>(nil)
        private let done = DispatchSemaphore(value: 0)

        func end(_ result: Result<[RowAmendment], any Error>) {
            self.result.withLock { $0 = result }
            done.signal()
        }

        func wait(_ time: Duration) -> Result<[RowAmendment], any Error>? {
            let (seconds, attoseconds) = time.components
            let nanoseconds = min(seconds, 1 << 30) * 1_000_000_000 + attoseconds / 1_000_000_000
            guard done.wait(timeout: .now() + .nanoseconds(Int(nanoseconds))) == .success else { return nil }
            return result.withLock(\.self)
        }
    }
}
