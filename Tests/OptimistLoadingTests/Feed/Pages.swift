// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting

@testable import OptimistCore
@testable import OptimistLoading

struct Photo: Identifiable, Codable, Equatable, Sendable {
    let id: Int
    var title = ""
    var key: String { "\(id)\(title)" }
}

enum Kind: Hashable, Sendable { case chosen, recommended }

typealias PhotoFeed = Feed<Kind, String, Photo, Int>

/// A source of pages whose answers the test controls.
final class Pages: Sendable {
    typealias Answer = Result<FeedPage<Photo>, any Error>

    private struct State {
        var waiting: [(request: PhotoFeed.Request, answer: CheckedContinuation<FeedPage<Photo>, any Error>)] = []
        var asked: [PhotoFeed.Request] = []
    }

    private let state = Mutex(State())
    private let requests: AsyncStream<PhotoFeed.Request>
    private let ask: AsyncStream<PhotoFeed.Request>.Continuation

    init() { (requests, ask) = AsyncStream.makeStream() }

    /// All requests, in the order in which they began.
    var asked: [PhotoFeed.Request] { state.withLock { $0.asked } }

    /// Ignores cancellation, so that answers may be late.
    func page(_ request: PhotoFeed.Request) async throws -> FeedPage<Photo> {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { state in
                state.asked.append(request)
                state.waiting.append((request, continuation))
            }
            ask.yield(request)
        }
    }

    /// Waits for the next request.
    @discardableResult
    func request() async -> PhotoFeed.Request? { await requests.first { _ in true } }

    /// Answers the first pending request for a section, or with this filter.
    func answer(in section: Kind = .chosen, filter: String? = nil, _ answer: Answer) {
        let continuation = state.withLock { state in
            state.waiting.firstIndex {
                $0.request.section == section && (filter ?? $0.request.filter) == $0.request.filter
            }.map { state.waiting.remove(at: $0).answer }
        }
        continuation?.resume(with: answer)
    }

    func answer(in section: Kind = .chosen, filter: String? = nil, _ ids: some Sequence<Int>, next: String? = nil) {
        answer(in: section, filter: filter, .success(FeedPage(ids.map { Photo(id: $0) }, next: next)))
    }
}

/// A feed of photos with its pages, picture source, and a manual clock.
struct Wall {
    let pages = Pages()
    let desk: Desk
    let feed: PhotoFeed
    private let snapshots: AsyncStream<PhotoFeed.Snapshot>

    /// - Parameter frame: By default, observers receive every change.
    init(
        _ sections: [Kind] = [.chosen], frame: Duration = .zero, limits: FeedLimits = FeedLimits(ahead: 0, behind: 0),
        archive: FeedArchive<Kind, String, Photo>? = nil, desk: Desk = Desk(LoaderLimits(fetches: 100, linger: .zero))
    ) {
        self.desk = desk
        var limits = limits
        limits.frame = frame
        feed = Feed(
            sections: sections, filter: "all", limits: limits, archive: archive, values: desk.loader, key: \.key,
            dependencies: Dependencies(clock: desk.clock), source: pages.page)
        snapshots = feed.snapshots()
    }

    /// A feed that shows its first page.
    static func showing(_ ids: Range<Int>, next: String? = nil, limits: FeedLimits = FeedLimits(ahead: 0, behind: 0))
        async -> Self
    {
        let wall = Wall(limits: limits)
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(ids, next: next)
        await wall.until { $0.ids == Array(ids) }
        return wall
    }

    func next() async -> PhotoFeed.Snapshot? { await snapshots.first { _ in true } }

    @discardableResult
    func until(_ condition: @Sendable (PhotoFeed.Snapshot) -> Bool) async -> PhotoFeed.Snapshot? {
        await snapshots.first { condition($0) }
    }
}

extension FeedSnapshot where Section == Kind, Item == Photo {
    /// The ids of the first section's items.
    var ids: [Int] { sections.first?.items.map(\.id) ?? [] }
    var state: String { sections.first.map { "\($0.isStale ? "stale " : "")\($0.state)" } ?? "" }
    func text(_ id: Int) -> String {
        guard case .stale(let value, let failure) = phase(of: id) else { return "\(phase(of: id))" }
        return failure == nil ? "stale(\(value))" : "stale(\(value)), failed"
    }
}
