// This source file is part of the Optimist open source project, under the MIT licence.

/// A pattern as the steps of an automaton that is in many states at once, so that it never goes back.
struct PatternProgram: Sendable {
    private enum Step: Sendable {
        case scalar(ScalarSet)
        case either(Int, Int)
        case jump(Int)
        case end
    }

    private var steps: [Step] = []

    /// How many steps a program may have, and how many nodes may be turned into steps.
    private static let maxSteps = 2_000

    /// A program that matches nothing.
    init() {}

    init(_ node: PatternNode) throws(PatternFault) {
        var effort = 0
        try add(node, &effort)
        steps.append(.end)
    }

    private mutating func add(_ node: PatternNode, _ effort: inout Int) throws(PatternFault) {
        effort += 1
        guard effort <= Self.maxSteps, steps.count < Self.maxSteps else {
            throw PatternFault("its repetitions are too many together.")
        }
        switch node {
        case .scalars(let set): steps.append(.scalar(set))
        case .sequence(let nodes): for node in nodes { try add(node, &effort) }
        case .choice(let branches): try add(choice: branches, &effort)
        case .repeated(let node, let least, let most):
            for _ in 0..<least { try add(node, &effort) }
            guard let most else { return try add(loop: node, &effort) }
            var exits: [Int] = []
            for _ in least..<most {
                exits.append(steps.count)
                steps.append(.end)
                try add(node, &effort)
            }
            for exit in exits { steps[exit] = .either(exit + 1, steps.count) }
        }
    }

    private mutating func add(choice branches: [PatternNode], _ effort: inout Int) throws(PatternFault) {
        var ends: [Int] = []
        for (index, branch) in branches.enumerated() {
            let fork = steps.count
            let isLast = index == branches.count - 1
            if !isLast { steps.append(.end) }
            try add(branch, &effort)
            if isLast { break }
            ends.append(steps.count)
            steps.append(.end)
            steps[fork] = .either(fork + 1, steps.count)
        }
        for end in ends { steps[end] = .jump(steps.count) }
    }

    private mutating func add(loop node: PatternNode, _ effort: inout Int) throws(PatternFault) {
        let fork = steps.count
        steps.append(.end)
        try add(node, &effort)
        steps.append(.jump(fork))
        steps[fork] = .either(fork + 1, steps.count)
    }

    // MARK: - Matching

    /// The states that the automaton is in.
    private struct States {
        var list: [Int] = []
        private var isHere: [Bool]
        private var visited: [Int] = []
        /// The states to look at. Empty between two calls; it is kept so that a call allocates nothing.
        private var open: [Int] = []

        init(_ count: Int) { isHere = Array(repeating: false, count: count) }

        mutating func clear() {
            for state in visited { isHere[state] = false }
            visited.removeAll(keepingCapacity: true)
            list.removeAll(keepingCapacity: true)
        }

        /// Adds a state, and every state that is reached from it without reading a scalar.
        mutating func add(_ state: Int, of steps: [Step]) {
            open.append(state)
            while let state = open.popLast() {
                if isHere[state] { continue }
                isHere[state] = true
                visited.append(state)
                switch steps[state] {
                case .either(let one, let other): open += [other, one]
                case .jump(let target): open.append(target)
                case .scalar, .end: list.append(state)
                }
            }
        }
    }

    /// Whether the program matches all the scalars.
    func matches(_ scalars: some Sequence<Unicode.Scalar>) -> Bool {
        guard !steps.isEmpty else { return false }
        var (present, next) = (States(steps.count), States(steps.count))
        present.add(0, of: steps)
        for scalar in scalars {
            next.clear()
            for state in present.list {
                if case .scalar(let set) = steps[state], set.contains(scalar) { next.add(state + 1, of: steps) }
            }
            if next.list.isEmpty { return false }
            swap(&present, &next)
        }
        return present.list.contains { if case .end = steps[$0] { true } else { false } }
    }
}
