// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistLoading
import OptimistSession
import Synchronization

/// The screen of poses with Optimist's feed. Each picture appears as soon as it has loaded.
final class PosesScreen: PosesShowing {
    private typealias PoseFeed = Feed<PoseSection, PoseFilter, Pose, Picture>

    private struct State {
        var following: Task<Void, Never>?
        var drawn = 0
    }

    private let feed: PoseFeed
    private let source: PoseSource
    private let shelf: PictureShelf
    private let watch: PageWatch
    private let news: NewsDesk
    private let state = Mutex(State())

    init(loaders: PhoneLoaders, source: PoseSource, shelf: PictureShelf, watch: PageWatch, news: NewsDesk) {
        (self.source, self.shelf, self.watch, self.news) = (source, shelf, watch, news)
        feed = Feed(
            sections: PoseSection.allCases, filter: PoseFilter(),
            archive: FeedArchive(loaders.disk) { section, filter in
                let parts = [filter.people.map(String.init), filter.frames.map(String.init), filter.tag]
                return "poses/\(section.rawValue)/" + parts.map { $0 ?? "*" }.joined(separator: "/")
            }, values: loaders.pictures, key: \.picturePath
        ) { request in
            let row = watch.asks(request.section, isFirst: request.cursor == nil)
            do {
                let page = try await source.page(of: request.section, request.filter, after: request.cursor)
                watch.arrived(page.items, row)
                return FeedPage(page.items, next: page.next)
            } catch {
                watch.failed(row)
                throw error
            }
        }
    }

    func open() {
        let isFirst = state.withLock { state in
            guard state.following == nil else { return false }
            // Unstructured, because the screen outlives the request that opened it.
            state.following = Task { await follow() }
            return true
        }
        if isFirst { feed.refresh() }
    }

    func forget() async { await feed.removeAll() }
    func close() { state.withLock { $0.following }?.cancel() }

    func show(_ ids: [Pose.ID]) { feed.setVisible(ids) }
    func setFilter(_ filter: PoseFilter) { feed.setFilter(filter) }
    func refresh() { feed.refresh() }
    func next(in section: PoseSection) { feed.loadMore(in: section) }
    func retry(_ id: Pose.ID?) { if let id { feed.retry(id) } else { feed.retryAll() } }

    private func follow() async {
        for await snapshot in feed.snapshots() {
            var here: [Pose.ID] = []
            for id in snapshot.changes.updated.union(snapshot.changes.inserted) {
                let picture = snapshot.phase(of: id).value
                shelf[Pose.picturePath(of: id)] = picture
                if picture != nil { here.append(id) }
            }
            for id in snapshot.changes.removed { shelf[Pose.picturePath(of: id)] = nil }
            let drawn = state.withLock { state in
                state.drawn += 1
                return state.drawn
            }
            watch.shows(here, drawn: drawn)
            news.changed(.feed, .loading)
        }
    }

    var snapshot: PosesSnapshot {
        let feed = feed.snapshot
        return PosesSnapshot(
            filter: feed.filter, choices: source.choices,
            sections: feed.sections.map { section in
                PosesSnapshot.Section(
                    id: section.id, state: .init(section.state), stale: section.isStale,
                    items: section.items.map { PosesSnapshot.Item($0, phase(of: $0, in: feed)) })
            }, drawn: state.withLock { $0.drawn })
    }

    /// A picture that the screen does not hold yet is drawn in the next frame.
    private func phase(of pose: Pose, in feed: PoseFeed.Snapshot) -> PosesSnapshot.Item.Phase {
        let phase = feed.phase(of: pose.id)
        return phase.value != nil && shelf[pose.picturePath] == nil ? .placeholder : .init(phase)
    }
}

extension PosesSnapshot.Section.State {
    init(_ state: FeedSectionState) {
        self =
            switch state {
            case .loading: .loading
            case .more: .more
            case .ended: .ended
            case .failed: .failed
            }
    }
}

extension PosesSnapshot.Item.Phase {
    init(_ phase: FeedPhase<Picture>) {
        self =
            switch phase {
            case .placeholder: .placeholder
            case .stale: .stale
            case .loaded: .loaded
            case .failed: .failed
            }
    }
}
