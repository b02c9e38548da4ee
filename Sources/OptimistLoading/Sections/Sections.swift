// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore

/// A screen of several sections, filled by one or more sources.
///
/// A response leads to one snapshot, even if it fills several sections. A source reports changes to its own sections
/// only, and equal values are not reported. Sections with opening hours appear and disappear on time. The first
/// snapshot waits until every source has responded or failed. If a source fails, its sections report the error, and the
/// others are shown.
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
/// Any thread may use this object. Loading begins with ``refresh()``.
///
/// > Important: Values of sections are compared and copied while the lock is held: their `==` must not call this
/// > object.
public final class Sections<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// The state of the screen at one moment.
    public typealias Snapshot = ScreenSnapshot<ID, Screen>
    typealias Machine = SectionsMachine<ID, Screen>

    /// The time within which a change to the system clock is noticed.
    private static var longestSleep: Duration { .seconds(60) }

    let state: Mutex<State>
    private let empty: Screen
    private let sources: [ScreenSource<ID, Screen>]
    private let patience: Duration?
    let dependencies: Dependencies
    private let elapsed: Stopwatch

    /// Creates a screen.
    ///
    /// - Parameters:
    ///   - empty: The screen without any content.
    ///   - timeout: How long the first snapshot waits for sources that do not respond. After that, their sections are
    ///     ``SectionPhase/waiting``. Default: nil, no limit.
    ///   - dependencies: The clock, the time of day, and tasks.
    ///   - sources: The sources, which load independently.
    /// - Precondition: Section ids are unique.
    public init(
        _ empty: Screen, timeout: Duration? = nil, dependencies: Dependencies = Dependencies(),
        sources: [ScreenSource<ID, Screen>]
    ) {
        let ids = sources.flatMap(\.sections).map(\.id)
        precondition(Set(ids).count == ids.count, "Section ids must be unique.")
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

    // MARK: - Requests

    /// Requests every source, even if it has responded before. Current values are kept until the source responds, and
    /// each response is reported separately.
    public func refresh() {
        let isFirst = beginning()
        for source in sources.indices { ask(source) }
        if isFirst, let patience { sleep(patience) { $0.update { machine, date in machine.waitedEnough(at: date) } } }
    }

    func begin() { if !state.withLock(\.hasBegun) { refresh() } }

    private func beginning() -> Bool {
        state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
    }

    /// Requests a section's source again. Unknown ids are ignored.
    public func refresh(_ id: ID) {
        guard let source = sources.firstIndex(where: { $0.sections.contains { $0.id == id } }) else { return }
        ask(source)
    }

    /// Checks opening hours immediately. Call it when the system clock was changed; otherwise the change is noticed
    /// within a minute.
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

    // MARK: - Events

    private func update(_ event: (inout Machine, Date) -> Void) {
        let date = dependencies.now()
        let (former, machine, bells) = state.withLock { state in
            let former = state.machine  // The values in it are released without the lock.
            event(&state.machine, date)
            let bells = state.bells()
            return (former, state.machine, bells)
        }
        for bell in bells { bell() }
        withExtendedLifetime(former) {}
        guard let next = machine.nextChange(after: date) else { return }
        wake(after: min(.seconds(next.timeIntervalSince(date)), Self.longestSleep))
    }

    /// Schedules the next check of opening hours, with one timer for all sections.
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
