// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistCore
@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct PlainFeedTests {
    /// The case's name, as a screen would show it.
    private func name(_ content: FeedContent) -> String {
        switch content {
        case .items: "items"
        case .loading: "loading"
        case .nothingYet: "nothing yet"
        case .empty: "empty"
        case .failed(let error): "failed: \(error)"
        }
    }

    @Test(arguments: ["items", "empty", "failed: broken"])
    func `F5: a feed without items reports why, and shows items as soon as it has some`(end: String) async {
        let (answers, answer) = AsyncStream<Void>.makeStream()
        let asked = Mutex<[String?]>([])
        let feed = PlainFeed<Photo, Int>(values: Loader { _ in Fetched(1) }, key: \.key) { cursor in
            asked.withLock { $0.append(cursor) }
            for await _ in answers { break }
            if end == "failed: broken" { throw Broken() }
            return FeedPage(end == "empty" ? [] : [Photo(id: 1)])
        }
        #expect(name(feed.snapshot.content) == "nothing yet")
        feed.refresh()
        #expect(name(feed.snapshot.content) == "loading")
        answer.yield()
        for await snapshot in feed.snapshots() where name(snapshot.content) == end { break }
        #expect(feed.snapshot.items.map(\.id) == (end == "items" ? [1] : []))
        #expect(asked.withLock { $0 } == [nil])
    }
}
