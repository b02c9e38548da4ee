// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Plan {
    /// Draws a plan from a seed.
    ///
    /// Each plan omits some kinds of faults (swarm testing), because a fault that always occurs can hide another one's
    /// effects.
    ///
    /// > Source: Groce et al., "Swarm Testing", ISSTA 2012.
    package init(drawnFrom seed: UInt64) {
        var random = SplitMix64(seed: seed ^ 0x914A)
        let devices = Int.random(in: 2...5, using: &random)
        let seconds = Double.random(in: 60...600, using: &random)
        let kinds = Kind.allCases.filter { $0.isFault && Bool.random(using: &random) && !Self.isRare($0, &random) }
        let pageRows = [1, 2, 7, 40, nil].randomElement(using: &random) ?? nil
        self.init(
            seed: seed, devices: devices, clocksAreRight: !kinds.contains(.skew), pageRows: pageRows, seconds: seconds,
            events: [])
        for device in 0..<devices {
            for _ in 0..<Int.random(in: 5...30, using: &random) { add(.write, device, &random) }
        }
        addFaults(kinds, &random)
    }

    /// Draws a plan with several people, who share rows in spaces.
    package init(ofSharingDrawnFrom seed: UInt64) {
        var random = SplitMix64(seed: seed ^ 0x5A3E)
        let persons = Int.random(in: 2...3, using: &random)
        let devices = Int.random(in: persons...5, using: &random)
        let seconds = Double.random(in: 120...700, using: &random)
        let kinds = Kind.allCases.filter {
            $0.isFault && ![.upgrade, .serverUpgrade].contains($0) && Bool.random(using: &random)
                && !Self.isRare($0, &random)
        }
        let pageRows = [1, 2, 7, 40, nil].randomElement(using: &random) ?? nil
        self.init(
            seed: seed, devices: devices, persons: persons, clocksAreRight: !kinds.contains(.skew), pageRows: pageRows,
            seconds: seconds, events: [])
        for device in 0..<devices {
            for _ in 0..<Int.random(in: 5...20, using: &random) { add(.write, device, &random) }
            for _ in 0..<Int.random(in: 0...4, using: &random) { add(.move, device, &random) }
        }
        // A space is shared early, so that most of the time there is something to share.
        for kind in [Kind.found, .invite, .accept] {
            for device in 0..<devices { add(kind, device, &random, within: seconds / 4) }
        }
        for kind in Kind.allCases where kind.isOfSpaces {
            for _ in 0..<Int.random(in: 0...(kind == .deleteSpace ? 1 : 4), using: &random) {
                add(kind, .random(in: 0..<devices, using: &random), &random)
            }
        }
        addFaults(kinds, &random)
    }

    /// Adds faults of these kinds, and puts all events in order.
    private mutating func addFaults(_ kinds: [Kind], _ random: inout SplitMix64) {
        for kind in kinds {
            for _ in 0..<Int.random(in: 1...(kind.isGreat ? 2 : 6), using: &random) {
                add(kind, .random(in: 0..<devices, using: &random), &random)
            }
        }
        events.sort { ($0.at, $0.draw) < ($1.at, $1.draw) }
    }

    /// Great faults hide most others, so they occur in only a quarter of the plans.
    private static func isRare(_ kind: Kind, _ random: inout SplitMix64) -> Bool {
        kind.isGreat && Bool.random(using: &random)
    }

    private mutating func add(
        _ kind: Kind, _ device: Int, _ random: inout SplitMix64, within limit: Double? = nil
    ) {
        // Bursts, so that much happens between two messages.
        let at = Double.random(in: 0..<(limit ?? seconds), using: &random)
        let isBurst = Bool.random(using: &random)
        events.append(
            Event(
                at: isBurst ? (at / 20).rounded(.down) * 20 : at, kind: kind, device: device,
                amount: Self.amount(of: kind, &random), draw: random.next()))
    }

    private static func amount(of kind: Kind, _ random: inout SplitMix64) -> Int {
        switch kind {
        case .write: .random(in: 1...5, using: &random)
        case .invite: .random(in: 1...3, using: &random)
        case .offline, .flaky: .random(in: 5...200, using: &random)
        case .kill, .serverKill: .random(in: 0...120, using: &random)
        case .diskCrash, .serverDiskCrash: .random(in: 1...60, using: &random)
        case .ioError, .diskFull, .busy, .serverIOError, .serverDiskFull, .serverBusy:
            .random(in: 0...40, using: &random)
        case .skew:
            [-86400, 86400, -31_536_000, 31_536_000, -1_767_225_600, 2_300_000_000, 30, -30].randomElement(
                using: &random) ?? 0
        case .deviceRestore, .serverRestore: .random(in: 1...150, using: &random)
        case .powerLoss, .serverPowerLoss, .expireTokens, .revoke, .signOut, .checkpoint, .upgrade, .serverUpgrade,
            .absence, .join, .found, .accept, .leave, .remove, .setRole, .transfer, .revokeInvitation, .deleteSpace,
            .move:
            0
        }
    }
}

extension Plan.Kind {
    fileprivate var isGreat: Bool {
        switch self {
        case .skew, .deviceRestore, .serverRestore, .absence: true
        default: false
        }
    }
}
