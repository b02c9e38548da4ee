// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistLab

/// What the lab counts when a standby takes over.
struct FailoverTests {
    private func rows(_ ids: String...) -> Set<AccountRow> { Set(ids.map { AccountRow(account: "a", id: $0) }) }

    @Test func `acknowledged rows that the new primary lacks are lost until they return`() {
        var failover = Failover(acknowledged: rows("1", "2", "3"), held: rows("1", "4"), duration: .milliseconds(130))
        #expect(failover.acknowledged == 3 && failover.lost == rows("2", "3"))
        #expect(failover.healed == 0 && failover.missing == rows("2", "3"))
        failover.look(wanted: rows("1", "2", "3"), held: rows("1", "2", "4"))
        #expect(failover.healed == 1 && failover.missing == rows("3"))
        failover.look(wanted: rows("1", "2", "3"), held: rows("1", "2", "3", "4"))
        #expect(failover.healed == 2 && failover.missing.isEmpty && failover.lost == rows("2", "3"))
    }

    @Test func `a lost row that the phones deleted does not count as missing`() {
        var failover = Failover(acknowledged: rows("1", "2"), held: [], duration: .zero)
        failover.look(wanted: rows("1"), held: [])
        #expect(failover.missing == rows("1") && failover.healed == 1)
    }

    @Test func `the same id in another account is another row`() {
        let failover = Failover(
            acknowledged: rows("1"), held: [AccountRow(account: "b", id: "1")], duration: .zero)
        #expect(failover.missing == rows("1"))
    }
}
