// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Decides what a screen with several sources shows, and which sections have changed.
struct SectionsMachine<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    private struct Source: Sendable {
        let sections: [ScreenSection<ID, Screen>]
        var number = 0
        var phase = SectionPhase.waiting
        var hours: [OpeningHours?]
    }

    private var sources: [Source]
    /// The responses of all sources, regardless of opening hours.
    private var whole: Screen
    private(set) var shown: Screen
    private(set) var ids: [ID]
    private var changed: Set<ID> = []
    private var isOverdue = false

    init(_ empty: Screen, _ sources: [[ScreenSection<ID, Screen>]]) {
        (whole, shown) = (empty, empty)
        self.sources = sources.map { Source(sections: $0, hours: $0.map { $0.hours(empty) }) }
        ids = sources.joined().map(\.id)
        changed = Set(ids)
    }

    /// Whether every source has responded or failed, or the timeout has passed. Until then, nothing is shown.
    var isComplete: Bool {
        isOverdue || sources.allSatisfy { if case .waiting = $0.phase { false } else { true } }
    }

    var phases: [ID: SectionPhase] {
        Dictionary(
            sources.flatMap { source in source.sections.map { ($0.id, source.phase) } }, uniquingKeysWith: { $1 })
    }

    var hasNews: Bool { isComplete && !changed.isEmpty }

    mutating func takeChanged() -> Set<ID> {
        defer { changed = [] }
        return changed
    }

    // MARK: - Events

    /// - Returns: The number of the run.
    mutating func ask(_ source: Int) -> Int {
        sources[source].number += 1
        return sources[source].number
    }

    func isCurrent(_ run: Int, of source: Int) -> Bool { sources[source].number == run }

    /// - Parameters:
    ///   - answer: A screen with the source's sections filled in.
    ///   - hours: The hours of the source's sections, in their order.
    mutating func answered(_ answer: Screen, _ hours: [OpeningHours?], _ source: Int, run: Int, at date: Date) {
        guard isCurrent(run, of: source) else { return }
        for section in sources[source].sections { section.copy(answer, &whole) }
        sources[source].hours = hours
        if case .current = sources[source].phase {} else { note(.current, source) }
        look(at: date)
    }

    mutating func failed(_ error: any Error, _ source: Int, run: Int, at date: Date) {
        guard isCurrent(run, of: source) else { return }
        switch sources[source].phase {
        case .waiting, .failed: note(.failed(error), source)
        case .current, .stale: note(.stale(error), source)
        }
        look(at: date)
    }

    /// A source has finished. If it never responded, its sections are empty.
    mutating func ended(_ source: Int, run: Int, at date: Date) {
        guard isCurrent(run, of: source), case .waiting = sources[source].phase else { return }
        note(.current, source)
        look(at: date)
    }

    mutating func waitedEnough(at date: Date) {
        isOverdue = true
        look(at: date)
    }

    mutating func look(at date: Date) {
        var (screen, open) = (whole, [ID]())
        for source in sources {
            for (section, hours) in zip(source.sections, source.hours) {
                if hours?.isOpen(at: date) ?? true { open.append(section.id) } else { section.hide?(&screen) }
            }
        }
        for section in sources.lazy.flatMap(\.sections) where !section.isSame(screen, shown) {
            changed.insert(section.id)
        }
        changed.formUnion(Set(ids).symmetricDifference(open))
        (shown, ids) = (screen, open)
    }

    /// When a section next appears or disappears. Nil if not within a week.
    func nextChange(after date: Date) -> Date? {
        sources.lazy.flatMap(\.hours).compactMap { $0?.nextChange(after: date) }.min()
    }

    /// Changes a source's phase. Repeated failures, and phases of hidden sections, are not reported.
    private mutating func note(_ phase: SectionPhase, _ source: Int) {
        let former = sources[source].phase
        sources[source].phase = phase
        switch (former, phase) {
        case (.failed, .failed), (.stale, .stale): break
        default: changed.formUnion(sources[source].sections.map(\.id).filter(ids.contains))
        }
    }
}
