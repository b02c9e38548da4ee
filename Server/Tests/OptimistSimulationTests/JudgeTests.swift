// This source file is part of the Optimist open source project, under the MIT licence.

@testable import OptimistSimulation
import Testing

@Suite("The judge", .timeLimit(.minutes(20)))
struct JudgeTests {
    private static let list = RowName(table: "list", id: "01")
    private static let todo = RowName(table: "todo", id: "02")

    /// What is said when a list was made, deleted and made anew by the first device, which then put a to-do into it, and the
    /// to-do is gone.
    private func findings(
        deletedBy device: Int = 0, isRestored: Bool = false, refused: [RowName: [Refused]] = [:]
    ) -> [String] {
        let first: [RowName: Values] = [Self.list: ["name": "d0w1.1"]]
        let second: [RowName: Values] = [Self.list: ["name": "d0w3.1"]]
        let whole = second.merging([Self.todo: ["listId": Self.list.id, "content": "d0w4.1"]]) { $1 }
        let writes: [(Int, [RowName: Values], [RowName: Values])] = [
            (0, [:], first), (device, first, [:]), (0, [:], second), (0, second, whole),
        ]
        var history = History()
        for (number, (device, before, after)) in writes.enumerated() {
            let attempt = history.attempt(
                device: device, at: Int64(number * 10), tag: "d\(device)w\(number + 1)", before: before, after: after,
                reborn: [], shortLived: [])
            history.returned(attempt)
        }
        if isRestored { history.forgive(device: 0, since: 100) }
        return Judge(
            history: history, server: second, clocksAreRight: true, hasForgotten: false, refused: refused,
            journaled: [:]
        ).findings()
    }

    private static let (tag, other) = (RowName(table: "tag", id: "01"), RowName(table: "tag", id: "02"))

    /// What is said when a device has named a tag like another one, and the tag has its former name in the end.
    private func findings(isCounted: Bool, isAnothers: Bool, hasGoneBack: Bool) -> [String] {
        func tags(_ name: String, _ likes: String, _ second: String?) -> [RowName: Values] {
            var tags: [RowName: Values] = [Self.tag: ["name": name, "likes": likes]]
            if let second { tags[Self.other] = ["name": second, "likes": "0"] }
            return tags
        }
        let second = isAnothers ? "name 2" : "name 3"
        let writes: [(Int, [RowName: Values], [RowName: Values])] = [
            (0, [:], tags("name 1", "0", nil)),
            (1, tags("name 1", "0", nil), tags("name 1", isCounted ? "1" : "0", nil)),
            (2, tags("name 1", "1", nil), tags("name 1", "1", second)),
            (0, tags("name 1", "0", nil), tags("name 2", "0", nil)),
        ]
        var history = History()
        for (number, (device, before, after)) in writes.enumerated() {
            let attempt = history.attempt(
                device: device, at: Int64(number * 10), tag: "d\(device)w\(number + 1)", before: before, after: after,
                reborn: [], shortLived: [])
            history.returned(attempt)
        }
        if hasGoneBack { history.serverWentBack(to: []) }
        return Judge(
            history: history, server: tags("name 1", isCounted ? "1" : "0", second), clocksAreRight: true,
            hasForgotten: false, refused: [:], journaled: [:]
        ).findings()
    }

    @Test func `a row may be back beside the one it became, if it was counted in when the server went back`() {
        #expect(findings(isCounted: true, isAnothers: true, hasGoneBack: true) == [])
        for (isCounted, isAnothers, hasGoneBack) in [(false, true, true), (true, false, true), (true, true, false)] {
            let lost = findings(isCounted: isCounted, isAnothers: isAnothers, hasGoneBack: hasGoneBack)
            #expect(lost.count == 1)
            #expect(lost.first?.hasPrefix("lost: \(Self.tag).name = name 2") == true)
        }
    }

    @Test func `a row is not gone with a list that its own device had deleted and made anew before`() {
        let lost = findings()
        #expect(lost.count == 2)
        #expect(lost.allSatisfy { $0.hasPrefix("lost: \(Self.todo).") && $0.hasSuffix("nobody deleted it") })
    }

    @Test func `a row may be gone with a list that another device has deleted, whenever that was`() {
        #expect(findings(deletedBy: 1) == [])
    }

    @Test func `a row may be gone with a list whose new life was refused, or on a device that has gone back`() {
        #expect(findings(refused: [Self.list: [Refused(kind: "create", values: [:])]]) == [])
        #expect(findings(isRestored: true) == [])
    }
}
