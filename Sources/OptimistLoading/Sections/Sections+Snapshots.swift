// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Sections {
    /// The current state of the screen, without changes. Nil until every source has responded or failed.
    public var snapshot: Snapshot? {
        state.withLock { state in
            state.machine.isComplete ? state.machine.snapshot(changed: []) : nil
        }
    }

    /// Returns a snapshot as soon as every source has responded or failed, and then after each change.
    ///
    /// A slow observer skips intermediate snapshots. Each snapshot has all changes since the observer's previous one.
    /// Each call creates an independent stream, which ends when its task is cancelled or the sections are released.
    public func snapshots() -> AsyncStream<Snapshot> {
        observe(by: dependencies.clock)
    }
}

extension Sections: Observed {
    func add(_ bell: Bell) -> Int { state.withLock { $0.add(bell) } }
    func removeObserver(_ number: Int) { _ = state.withLock { $0.observers.removeValue(forKey: number) } }
    func take(_ number: Int) -> Taking<Snapshot> { state.withLock { $0.take(number) }.map { .snapshot($0) } ?? .none }
}

extension Sections {
    struct State: Sendable {
        var machine: Machine
        var tasks: [Int: Task<Void, Never>] = [:]
        /// The time of the next check of the hours, by the stopwatch.
        var alarm: Duration?
        var hasBegun = false
        /// The observers, with the changes that each has not received yet. Nil: everything.
        var observers: [Int: (bell: Bell, changed: Set<ID>?)] = [:]
        private var lastObserver = 0

        init(_ machine: Machine) { self.machine = machine }

        mutating func add(_ bell: Bell) -> Int {
            lastObserver += 1
            observers[lastObserver] = (bell, nil)
            return lastObserver
        }

        /// - Returns: The observers to wake.
        mutating func bells() -> [Bell] {
            guard machine.hasNews else { return [] }
            let changed = machine.takeChanged()
            for id in observers.keys { observers[id]?.changed?.formUnion(changed) }
            return observers.sorted { $0.key < $1.key }.map(\.value.bell)
        }

        mutating func take(_ id: Int) -> ScreenSnapshot<ID, Screen>? {
            guard machine.isComplete, let observer = observers[id], observer.changed?.isEmpty != true else {
                return nil
            }
            observers[id]?.changed = []
            return machine.snapshot(changed: observer.changed ?? Set(machine.ids))
        }
    }
}

extension SectionsMachine {
    fileprivate func snapshot(changed: Set<ID>) -> ScreenSnapshot<ID, Screen> {
        ScreenSnapshot(screen: shown, ids: ids, changed: changed, phases: phases)
    }
}
