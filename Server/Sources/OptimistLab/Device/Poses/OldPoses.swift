// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistSession

/// The feed of the app in the fourth story. One queue fetches a page's pictures one by one, and the page appears when
/// all eight have loaded.
actor OldPoses: PosesShowing {
    private let session: Session
    private let source: PoseSource
    private let shelf: PictureShelf
    private let watch: PageWatch
    private let news: NewsDesk
    private var shown = PosesSnapshot()
    private var cursors: [PoseSection: String] = [:]
    /// Incremented by a refresh, so that results of older requests are ignored.
    private var generation = 0
    private var queue: Task<Void, Never>?

    init(session: Session, source: PoseSource, shelf: PictureShelf, watch: PageWatch, news: NewsDesk) {
        (self.session, self.source, self.shelf, self.watch, self.news) = (session, source, shelf, watch, news)
    }

    var snapshot: PosesSnapshot {
        var snapshot = shown
        snapshot.choices = source.choices
        return snapshot
    }

    func open() { if shown.sections.isEmpty { refresh() } }

    func refresh() {
        generation += 1
        queue?.cancel()
        queue = nil
        cursors = [:]
        shown.sections = PoseSection.allCases.map {
            PosesSnapshot.Section(id: $0, state: .loading, stale: false, items: [])
        }
        draw()
        for section in PoseSection.allCases { load(section) }
    }

    func setFilter(_ filter: PoseFilter) {
        guard filter != shown.filter else { return }
        shown.filter = filter
        refresh()
    }

    func show(_ ids: [Pose.ID]) {
        for section in shown.sections where section.state == .more {
            if let last = section.items.last?.pose.id, ids.contains(last) { next(in: section.id) }
        }
    }

    func next(in section: PoseSection) {
        guard let place = shown.sections.firstIndex(where: { $0.id == section && $0.state == .more }) else { return }
        shown.sections[place].state = .loading
        draw()
        load(section)
    }

    func retry(_ id: Pose.ID?) {
        for section in shown.sections where section.state == .failed {
            change(section.id) { $0.state = .loading }
            load(section.id)
        }
    }

    func close() { queue?.cancel() }

    private func load(_ section: PoseSection) {
        let (former, generation) = (queue, generation)
        // Unstructured, and queued after earlier requests.
        queue = Task {
            await former?.value
            await loadNow(section, generation)
        }
    }

    private func loadNow(_ section: PoseSection, _ generation: Int) async {
        guard generation == self.generation else { return }
        let cursor = cursors[section]
        let row = watch.asks(section, isFirst: cursor == nil)
        do {
            let page = try await source.page(of: section, shown.filter, after: cursor)
            var pictures: [Picture] = []
            for pose in page.items {
                let answer = try await session.send(SessionRequest(pose.picturePath, deadline: HeldPictures.patience))
                guard answer.status == .ok else { throw CancellationError() }
                pictures.append(try Picture(decoding: answer.body))
            }
            guard generation == self.generation else { return }
            for (pose, picture) in zip(page.items, pictures) { shelf[pose.picturePath] = picture }
            watch.arrived(page.items, row)
            cursors[section] = page.next
            change(section) { section in
                section.items += page.items.map { PosesSnapshot.Item($0, .loaded) }
                section.state = page.next == nil ? .ended : .more
            }
            watch.shows(page.items.map(\.id), drawn: shown.drawn)
        } catch {
            guard generation == self.generation else { return }
            watch.failed(row)
            change(section) { $0.state = .failed }
        }
    }

    private func change(_ id: PoseSection, _ change: (inout PosesSnapshot.Section) -> Void) {
        if let place = shown.sections.firstIndex(where: { $0.id == id }) { change(&shown.sections[place]) }
        draw()
    }

    private func draw() {
        shown.drawn += 1
        news.changed(.feed, .loading)
    }
}
