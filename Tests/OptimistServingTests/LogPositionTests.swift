// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

@Suite(.timeLimit(.minutes(20)))
struct PlacesTests {
    private static func row(_ seq: Int64, _ ordinal: Int) -> LoggedRow {
        LoggedRow(id: "", place: LogPosition(seq: seq, ordinal: ordinal), bornSeq: seq, generation: 1, content: [])
    }

    @Test func `R1: a page ends between transactions, unless one transaction exceeds the page`() {
        let start = LogPosition(after: 4)
        let page = ChangePage(rows: [Self.row(5, 0), Self.row(6, 0)], next: LogPosition(seq: 6, ordinal: 1))
        #expect(page.end(from: start) == LogPosition(seq: 6, ordinal: 0))
        let large = ChangePage(rows: [Self.row(5, 0), Self.row(5, 1)], next: LogPosition(seq: 5, ordinal: 2))
        #expect(large.end(from: start)?.state(epoch: "e").description == "e.4.2")
        #expect(ChangePage(rows: large.rows).end(from: start) == nil)
    }

    @Test func `a state and its log position convert into each other`() {
        for text in ["e.0", "e.41", "e.41.3"] {
            #expect(SyncState(text).map { LogPosition(after: $0).state(epoch: "e").description } == text)
        }
        #expect(SyncState("e.0").map(LogPosition.init(after:)) == .start)
    }

    @Test func `L3: states of earlier epochs are valid up to the start of the next epoch`() {
        let epochs = Epochs(names: ["e1", "e2", "e3", "e4"], firstSeqs: ["e1": 0, "e3": 40], seq: 50)
        #expect(epochs.all.map(\.firstSeq) == [0, 40, 40, 50])
        func isValid(_ text: String) -> Bool { SyncState(text).map(epochs.contain) ?? false }
        #expect(isValid("e1.40"))
        #expect(!isValid("e1.41"))
        #expect(isValid("e1.39.5"))
        #expect(!isValid("e1.40.5"))
        #expect(isValid("e2.40"))
        #expect(!isValid("e2.41"))
        #expect(isValid("e3.50"))
        #expect(isValid("e4.50"))
        #expect(!isValid("e4.51"))
        #expect(!isValid("e9.0"))
    }
}
