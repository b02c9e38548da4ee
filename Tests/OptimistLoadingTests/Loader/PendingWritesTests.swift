// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
final class PendingWritesTests {
    private var pending = PendingWrites<String, Int>(mostValues: 3, mostBytes: 100)

    private func write(
        _ value: Int, _ etag: String? = nil, former: String? = nil, isKept: Bool = true, costBytes: Int = 1
    ) -> PendingWrites<String, Int>.Write {
        let validity = Validity(etag: etag)
        let fetched: Fetched<Int> =
            former == nil
            ? Fetched(value, validity: validity, isKeptOnDisk: isKept) : .unchanged(validity, isKeptOnDisk: isKept)
        return PendingWrites.Write(
            fetched: fetched, value: value, former: former.map { Validity(etag: $0) }, costBytes: costBytes)
    }

    @discardableResult
    private func add(
        _ write: PendingWrites<String, Int>.Write?, _ key: String
    ) -> (number: Int, replaced: PendingWrites<String, Int>.Write?) { pending.add(write, for: key) }

    private func begin() -> Bool { pending.begin() }
    private func end(_ number: Int) -> Int? { pending.end(number)?.value }

    /// The writes in order: a key with its value, or with nil for a removal.
    private func work() -> [String] {
        var done: [String] = []
        while let (number, key, write) = pending.first() {
            done.append("\(key) \(write.map { "\($0.value)" } ?? "removed")")
            _ = pending.end(number)
        }
        return done
    }

    private func found(_ key: String) -> String {
        switch pending.found(key) {
        case .nothing: "nothing"
        case .removed: "removed"
        case .value(let value, let validity): "\(value) \(validity.etag ?? "")"
        }
    }

    @Test func `only the latest write of a key is done, in the order of decisions`() {
        add(write(1), "a")
        add(write(2), "b")
        #expect(add(write(3), "a").replaced?.value == 1)
        add(nil, "c")
        #expect(["a", "b", "c", "d"].map(found) == ["3 ", "2 ", "removed", "nothing"])
        #expect(work() == ["b 2", "a 3", "c removed"])
        #expect(found("a") == "nothing")
    }

    @Test func `a write decided during another of the same key is still done`() {
        let first = add(write(1), "a").number
        _ = pending.first()
        #expect(pending.isStanding(first))
        add(write(2), "a")
        #expect(!pending.isStanding(first))
        #expect(end(first) == nil)
        #expect(work() == ["a 2"])
    }

    @Test func `one worker runs at a time, and a new one starts only if there is work`() {
        #expect(!begin())
        add(write(1), "a")
        #expect(begin())
        #expect(!begin())
        #expect(work() == ["a 1"])
        #expect(!begin())
        add(write(2), "b")
        #expect(begin())
    }

    @Test func `C10 during a removal of everything, only values written after it began are found`() {
        let before = add(write(1), "a").number
        let replaced = pending.beginRemovingAll()
        #expect(replaced.map(\.value) == [1])
        #expect(!pending.isStanding(before))
        add(write(2), "b")
        #expect(["a", "b", "c"].map(found) == ["removed", "2 ", "removed"])
        pending.endRemovingAll()
        #expect(["a", "b", "c"].map(found) == ["nothing", "2 ", "nothing"])
        #expect(work() == ["b 2"])
    }

    @Test func `C7 a confirmation of a pending write applies to it if the tags match`() {
        add(write(1, "one"), "a")
        add(write(1, "two", former: "one"), "a")
        add(write(2, "one"), "b")
        add(write(1, "two", former: "another"), "b")
        add(write(3, "one"), "c")
        add(write(3, "one", former: "one", isKept: false), "c")
        add(write(4, "one", former: "one"), "d")
        #expect(["a", "b", "c", "d"].map(found) == ["1 two", "removed", "removed", "4 one"])
    }

    @Test func `the number of pending values is limited, and keys beyond it are removed from the disk`() {
        for number in 1...5 { add(write(number), "\(number)") }
        add(write(6), "1")
        #expect(work() == ["2 2", "3 3", "4 removed", "5 removed", "1 6"])
        add(write(7), "4")
        #expect(found("4") == "7 ")
    }

    @Test func `C5 the bytes of pending values are limited, and one larger value is allowed`() {
        add(write(1, costBytes: 60), "1")
        add(write(2, costBytes: 41), "2")
        add(write(3, costBytes: 40), "3")
        add(write(4, costBytes: .max), "4")
        #expect(["1", "2", "3", "4"].map(found) == ["1 ", "removed", "3 ", "removed"])
        add(write(5, costBytes: 10), "1")
        add(write(6, costBytes: 50), "2")
        #expect(work() == ["3 3", "4 removed", "1 5", "2 6"])
        add(write(7, costBytes: .max), "7")
        add(write(8, costBytes: 0), "8")
        #expect(work() == ["7 7", "8 removed"])
        add(write(9, costBytes: 100), "9")
        #expect(pending.beginRemovingAll().count == 1)
        add(write(9, costBytes: 100), "9")
        #expect(found("9") == "9 ")
    }
}
