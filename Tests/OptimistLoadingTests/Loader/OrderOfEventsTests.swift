// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistCore
@testable import OptimistLoading

/// Threads may deliver decisions in another order than they were made.
@Suite(.timeLimit(.minutes(20)))
struct OrderOfEventsTests {
    private let told = Told()
    private let subscriber: Subscriber<Int>

    init() { subscriber = Subscriber { [told] in told.note($0) } }

    @Test(arguments: [LoadEvent<Int>.progress(0.5), .partial(3), .failure(Broken())])
    func `C7 a value is delivered even after a progress, part or failure that was decided later`(later: LoadEvent<Int>)
    {
        subscriber.tell(later, version: 2)
        subscriber.tell(.value(1, .memory), version: 1)
        #expect(told.kinds == [later.kind, .value])
    }

    @Test func `C7 after a value, no event that was decided earlier is delivered`() {
        subscriber.tell(.value(1, .source), version: 5)
        for (version, event) in [LoadEvent<Int>.progress(0.5), .partial(3), .value(0, .memory), .failure(Broken())]
            .enumerated()
        {
            subscriber.tell(event, version: version + 1)
        }
        #expect(told.kinds == [.value])
        subscriber.tell(.failure(Broken()), version: 6)
        #expect(told.kinds == [.value, .failure])
    }

    @Test func `C7 waiting events are delivered in order of decision, and a later event replaces one of its kind`() {
        var turns = Turns()
        let first = turns.take(.value, 1) { {} }
        #expect(first.isMine)
        for (kind, version) in [(LoadEventKind.progress, 5), (.progress, 4), (.value, 3), (.failure, 7), (.value, 2)] {
            let taken = turns.take(kind, version) { {} }
            #expect(!taken.isMine)
        }
        #expect(turns.next()?.version == 3)
        #expect(turns.next()?.version == 7, "a failure replaces the progress before it")
        #expect(turns.next() == nil)
    }
}

private final class Told: Sendable {
    private let events = Mutex<[LoadEventKind]>([])
    var kinds: [LoadEventKind] { events.withLock { $0 } }
    func note(_ event: LoadEvent<Int>) { events.withLock { $0.append(event.kind) } }
}
