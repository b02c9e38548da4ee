// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore

/// A screen of several sections, filled by one or several sources.
///
/// One response is one snapshot, however many sections it fills (H1); a source that changes alone reports its own sections
/// alone (H2); sections with hours come and go by themselves (H3); equal values are not reported (H4). The first snapshot waits
/// until each source has answered or failed: the sections of a failed source say so, and the others show.
///
/// ```swift
/// let home = Sections(
///     Home(),
///     sources: [
///         ScreenSource(
///             [
///                 ScreenSection(Part.notices, \.notices),
///                 ScreenSection(.chapel, \.chapel, hours: OpeningHours(from: TimeOfDay(10), to: TimeOfDay(13), in: tokyo)),
///             ], load: { try await api.home() },
///             fill: { answer, home in
///                 home.notices = answer.notices
///                 home.chapel = answer.chapel
///             })
///     ])
/// home.refresh()
/// for await snapshot in home.snapshots() { draw(snapshot.changed, of: snapshot.screen) }
/// ```
///
/// Any thread may call. Nothing is loaded before ``refresh()``.
///
/// > Important: Values of sections are compared and copied under a lock: their `==` must not call this.
public final class Sections<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// The screen at one moment.
    public typealias Snapshot = ScreenSnapshot<ID, Screen>
    typealias Machine = SectionsMachine<ID, Screen>

    /// Where the clock is set meanwhile, that is noticed after this time.
    private static var longestSleep: Duration { .seconds(60) }

    let state: Mutex<State>
    private let empty: Screen
    private let sources: [ScreenSource<ID, Screen>]
    private let patience: Duration?
    let dependencies: Dependencies
    private let elapsed: Stopwatch

    /// - Parameters:
    ///   - empty: The screen before there is anything.
    ///   - timeout: How long the first snapshot waits for a source that does not answer; its sections are then
    ///     ``SectionPhase/waiting``. Default: nil, as long as it takes.
    ///   - dependencies: Time, the time of day, and tasks.
    ///   - sources: Each is asked by itself.
    /// - Precondition: No section comes twice.
    public init(
        _ empty: Screen, timeout: Duration? = nil, dependencies: Dependencies = Dependencies(),
        sources: [ScreenSource<ID, Screen>]
    ) {
        let ids = sources.flatMap(\.sections).map(\.id)
        precondition(Set(ids).count == ids.count, "each section comes from one source")
        state = Mutex(State(Machine(empty, sources.map(\.sections))))
        self.empty = empty
        self.sources = sources
        patience = timeout
        self.dependencies = dependencies
        elapsed = Stopwatch(dependencies.clock)
    }

    deinit {
        let (tasks, bells) = state.withLock { (Array($0.tasks.values), $0.observers.values.map(\.bell)) }
        for task in tasks { task.cancel() }
        for bell in bells { bell() }
    }

    // MARK: - Asking

    /// Asks every source, also if it has answered before. Its sections stay until it answers. Each answer is then reported
    /// by itself.
    public func refresh() {
        let isFirst = beginning()
        for source in sources.indices { ask(source) }
        if isFirst, let patience { sleep(patience) { $0.update { machine, date in machine.waitedEnough(at: date) } } }
    }

    /// Asks every source, unless that has been done.
    func begin() { if !state.withLock(\.hasBegun) { refresh() } }

    private func beginning() -> Bool {
        state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
    }

    /// Asks the source of a section again. Unknown ids do nothing.
    public func refresh(_ id: ID) {
        guard let source = sources.firstIndex(where: { $0.sections.contains { $0.id == id } }) else { return }
        ask(source)
    }

    /// Looks at the time, as when the clock has been set: without it that is noticed within a minute (H3).
    public func systemClockDidChange() { update { machine, date in machine.look(at: date) } }

    private func ask(_ source: Int) {
        let run = state.withLock { $0.machine.ask(source) }
        let task = dependencies.spawn { [weak self, definition = sources[source], empty] in
            do {
                try await definition.run { [weak self] response in
                    var answer = empty
                    response(&answer)
                    let hours = definition.sections.map { $0.hours(answer) }
                    self?.update { machine, date in machine.answered(answer, hours, source, run: run, at: date) }
                }
                self?.update { machine, date in machine.ended(source, run: run, at: date) }
            } catch {
                self?.update { machine, date in machine.failed(error, source, run: run, at: date) }
            }
        }
        let unneeded = state.withLock { state in
            guard state.machine.isCurrent(run, of: source) else { return task as Task? }
            defer { state.tasks[source] = task }
            return state.tasks[source]
        }
        unneeded?.cancel()
    }

    // MARK: - Telling

    /// Hands an event to the machine, and tells observers what follows.
    private func update(_ event: (inout Machine, Date) -> Void) {
        let date = dependencies.now()
        let (former, machine, bells) = state.withLock { state in
            let former = state.machine  // The values in it are released outside of the lock.
            event(&state.machine, date)
            let bells = state.bells()
            return (former, state.machine, bells)
        }
        for bell in bells { bell() }
        withExtendedLifetime(former) {}
        guard let next = machine.nextChange(after: date) else { return }
        wake(after: min(.seconds(next.timeIntervalSince(date)), Self.longestSleep))
    }

    /// Looks at the time again, once for all sections.
    private func wake(after delay: Duration) {
        let time = elapsed() + delay
        let isEarliest = state.withLock { state in
            if let alarm = state.alarm, alarm <= time { return false }
            state.alarm = time
            return true
        }
        guard isEarliest else { return }
        sleep(delay) { sections in
            sections.state.withLock { if $0.alarm == time { $0.alarm = nil } }
            sections.update { machine, date in machine.look(at: date) }
        }
    }

    private func sleep(_ delay: Duration, then work: @escaping @Sendable (Sections) -> Void) {
        let clock = dependencies.clock
        _ = dependencies.spawn { [weak self] in
            try? await clock.sleep(for: delay)
            if let self { work(self) }
        }
    }
}
