// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Sections {
    /// The screen as it is now. Nil: not every source has answered yet. Nothing in it is marked as changed.
    public var snapshot: Snapshot? {
        state.withLock { state in
            state.machine.isComplete ? state.machine.snapshot(changed: []) : nil
        }
    }

    /// The screen as soon as each source has answered or failed, and then whenever it has changed.
    ///
    /// A slow observer misses the snapshots between, and gets the newest, with all changes since the one before. Each
    /// call observes for itself. The stream ends when its task is cancelled, or the sections go.
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
    /// The machine, and who is told.
    struct State: Sendable {
        var machine: Machine
        var tasks: [Int: Task<Void, Never>] = [:]
        /// When it next looks at the time, by the stopwatch.
        var alarm: Duration?
        /// Whether it has been asked for anything.
        var hasBegun = false
        /// What each has not been told yet. Nil: anything.
        var observers: [Int: (bell: Bell, changed: Set<ID>?)] = [:]
        private var lastObserver = 0

        init(_ machine: Machine) { self.machine = machine }

        mutating func add(_ bell: Bell) -> Int {
            lastObserver += 1
            observers[lastObserver] = (bell, nil)
            return lastObserver
        }

        /// Notes for each observer what the machine has changed.
        ///
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
