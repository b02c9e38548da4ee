// This source file is part of the Optimist open source project, under the MIT licence.

import Observation
import OptimistTesting
import Testing

@testable import OptimistLoading

/// What SwiftUI observes.
@Suite(.timeLimit(.minutes(20)))
@MainActor
struct ModelTests {
    @Test func `a feed's model starts and follows it, and notifies observers`() async throws {
        let wall = Wall()
        let model = FeedModel(wall.feed)
        #expect(model.snapshot.ids == [])
        let following = Task { await model.follow() }
        await wall.pages.request()
        let (changes, tell) = AsyncStream<Void>.makeStream()
        withObservationTracking {
            _ = model.snapshot
        } onChange: {
            tell.yield()
        }
        wall.pages.answer(0..<3)
        for await _ in changes { break }
        while model.snapshot.ids != [0, 1, 2] { await Task.yield() }
        following.cancel()
        await following.value
        let again = Task { await model.follow() }
        again.cancel()
        await again.value
        #expect(wall.pages.asked.count == 1, "the feed was started once")
    }

    @Test func `a model of sections starts and follows them`() async throws {
        let campus = Campus(hasWeather: false)
        let model = SectionsModel(campus.sections)
        #expect(model.snapshot == nil)
        let following = Task { await model.follow() }
        await campus.home.question()
        campus.home.answer(Answer(notices: ["a"]))
        while model.snapshot?.screen.notices != ["a"] { await Task.yield() }
        following.cancel()
        await following.value
    }
}
