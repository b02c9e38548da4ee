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
