// This source file is part of the Optimist open source project, under the MIT licence.

/// An object that delivers snapshots to several observers, each at its own pace.
protocol Observed: AnyObject, Sendable {
    associatedtype Snapshot: Sendable

    func add(_ bell: Bell) -> Int
    func removeObserver(_ number: Int)
    func take(_ number: Int) -> Taking<Snapshot>
}

/// The next step of an observer.
enum Taking<Snapshot: Sendable>: Sendable {
    /// Wait for the bell.
    case none
    /// Try again after this time.
    case later(Duration)
    case snapshot(Snapshot)
}

extension Observed {
    /// A stream that ends when its task is cancelled, or when the observed object is released.
    func observe(by clock: any Clock<Duration>) -> AsyncStream<Snapshot> {
        let observing = Observing(self, clock)
        return AsyncStream { await observing.next() }
    }
}

/// Registers an observer for as long as this object exists.
private final class Observing<Subject: Observed>: Sendable {
    private weak let subject: Subject?
    private let clock: any Clock<Duration>
    private let bell = Bell()
    private let number: Int

    init(_ subject: Subject, _ clock: any Clock<Duration>) {
        self.subject = subject
        self.clock = clock
        number = subject.add(bell)
    }

    deinit { subject?.removeObserver(number) }

    func next() async -> Subject.Snapshot? {
        while !Task.isCancelled, let taking = subject?.take(number) {
            switch taking {
            case .snapshot(let snapshot): return snapshot
            case .later(let delay): try? await clock.sleep(for: delay)
            case .none: guard await bell.wait() else { return nil }
            }
        }
        return nil
    }
}
