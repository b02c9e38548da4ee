// This source file is part of the Optimist open source project, under the MIT licence.

/// A pattern compiled to a nondeterministic automaton. Matching tracks all states in parallel and never backtracks.
struct PatternProgram: Sendable {
    private enum Step: Sendable {
        /// Matches a scalar of the set with this index.
        case scalar(Int)
        case either(Int, Int)
        case jump(Int)
        case end
    }

    private var steps: [Step] = []
    /// The distinct sets used by the steps. Sharing equal sets means that each is tested once per scalar.
    private var sets: [ScalarSet] = []
    private var numbers: [ScalarSet: Int] = [:]

    /// The maximum number of steps, and of nodes visited while compiling. It bounds the work for each scalar of a text.
    static let maxSteps = 1_000

    /// A program that never matches.
    init() {}

    init(_ node: PatternNode) throws(PatternFault) {
        var effort = 0
        try add(node, &effort)
        steps.append(.end)
        numbers = [:]
    }

    private mutating func add(_ node: PatternNode, _ effort: inout Int) throws(PatternFault) {
        effort += 1
        guard effort <= Self.maxSteps, steps.count < Self.maxSteps else {
            throw PatternFault("it has too many repetitions in total.")
        }
        switch node {
        case .scalars(let set): steps.append(.scalar(number(of: set)))
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

    private mutating func number(of set: ScalarSet) -> Int {
        if let number = numbers[set] { return number }
        numbers[set] = sets.count
        sets.append(set)
        return sets.count - 1
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

    /// The current states of the automaton.
    private struct States {
        var list: [Int] = []
        private var isHere: [Bool]
        private(set) var visited: [Int] = []
        /// The states left to visit. Empty between calls; a property only to avoid allocations.
        private var open: [Int] = []

        init(_ count: Int) { isHere = Array(repeating: false, count: count) }

        mutating func clear() {
            for state in visited { isHere[state] = false }
            visited.removeAll(keepingCapacity: true)
            list.removeAll(keepingCapacity: true)
        }

        /// Adds a state and all states reachable from it without reading a scalar.
        mutating func add(_ state: Int, of steps: [Step]) {
            open.append(state)
            while let state = open.popLast() {
                if isHere[state] { continue }
                isHere[state] = true
                visited.append(state)
                switch steps[state] {
                case .either(let one, let other):
                    open.append(other)
                    open.append(one)
                case .jump(let target): open.append(target)
                case .scalar, .end: list.append(state)
                }
            }
        }
    }

    /// A scalar with the results of the sets tested so far.
    private struct Scalar {
        private let sets: [ScalarSet]
        private var isKnown: [Bool]
        private var isInside: [Bool]
        private var known: [Int] = []
        private var scalar: Unicode.Scalar = "\0"
        /// The work so far: one for each range, plus eight for each category.
        private(set) var work = 0

        init(_ sets: [ScalarSet]) {
            self.sets = sets
            isKnown = Array(repeating: false, count: sets.count)
            isInside = isKnown
        }

        mutating func become(_ scalar: Unicode.Scalar) {
            for set in known { isKnown[set] = false }
            known.removeAll(keepingCapacity: true)
            self.scalar = scalar
        }

        mutating func isIn(_ set: Int) -> Bool {
            if isKnown[set] { return isInside[set] }
            isKnown[set] = true
            known.append(set)
            work += sets[set].effort
            isInside[set] = sets[set].contains(scalar)
            return isInside[set]
        }
    }

    /// Returns whether the program matches all the scalars, and the work done: one for each state entered or left, plus
    /// the cost of each set tested.
    func match(_ scalars: some Sequence<Unicode.Scalar>) -> (isMatch: Bool, work: Int) {
        guard !steps.isEmpty else { return (false, 0) }
        var (present, next, here) = (States(steps.count), States(steps.count), Scalar(sets))
        var work = steps.count
        present.add(0, of: steps)
        for scalar in scalars {
            next.clear()
            here.become(scalar)
            for state in present.list {
                if case .scalar(let set) = steps[state], here.isIn(set) { next.add(state + 1, of: steps) }
            }
            work += present.list.count + next.visited.count
            if next.list.isEmpty { return (false, work + here.work) }
            swap(&present, &next)
        }
        let isMatch = present.list.contains { if case .end = steps[$0] { true } else { false } }
        return (isMatch, work + here.work)
    }
}

extension ScalarSet {
    /// The cost of a test. A category costs more because its name is a string.
    fileprivate var effort: Int { ranges.count + 8 * categories.count }
}
