// This source file is part of the Optimist open source project, under the MIT licence.

/// Gives snapshots to several observers, each in its own time.
protocol Observed: AnyObject, Sendable {
    associatedtype Snapshot: Sendable

    /// - Returns: The observer's number.
    func add(_ bell: Bell) -> Int
    func removeObserver(_ number: Int)
    func take(_ number: Int) -> Taking<Snapshot>
}

/// What there is for an observer.
enum Taking<Snapshot: Sendable>: Sendable {
    /// Nothing, until its bell rings.
    case none
    /// Something, when this time has passed.
    case later(Duration)
    case snapshot(Snapshot)
}

extension Observed {
    /// A stream that ends when its task is cancelled, or what it observes goes.
    func observe(by clock: any Clock<Duration>) -> AsyncStream<Snapshot> {
        let observing = Observing(self, clock)
        return AsyncStream { await observing.next() }
    }
}

/// An observer's place, for as long as the observer holds it.
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
