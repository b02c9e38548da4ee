// This source file is part of the Optimist open source project, under the MIT licence.

/// A pattern as the steps of an automaton that is in many states at once, so that it never goes back.
struct PatternProgram: Sendable {
    private enum Step: Sendable {
        /// A scalar of the set with this number.
        case scalar(Int)
        case either(Int, Int)
        case jump(Int)
        case end
    }

    private var steps: [Step] = []
    /// The sets of scalars that the steps name. Equal sets are here once, so that each is asked once about a scalar.
    private var sets: [ScalarSet] = []
    private var numbers: [ScalarSet: Int] = [:]

    /// How many steps a program may have, and how many nodes may be turned into steps. A scalar of a text may bring the
    /// automaton into each of the steps.
    static let maxSteps = 1_000

    /// A program that matches nothing.
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
            throw PatternFault("its repetitions are too many together.")
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

    /// The states that the automaton is in.
    private struct States {
        var list: [Int] = []
        private var isHere: [Bool]
        private(set) var visited: [Int] = []
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
                case .either(let one, let other):
                    open.append(other)
                    open.append(one)
                case .jump(let target): open.append(target)
                case .scalar, .end: list.append(state)
                }
            }
        }
    }

    /// The sets that one scalar is in, as far as they were asked for.
    private struct Scalar {
        private let sets: [ScalarSet]
        private var isKnown: [Bool]
        private var isInside: [Bool]
        private var known: [Int] = []
        private var scalar: Unicode.Scalar = "\0"
        /// The work so far: one for each range, and some for each category.
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

    /// Whether the program matches all the scalars, and how much work it was to find out: one for each state that the
    /// automaton entered or left, and for each range of scalars that was looked at.
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
    /// How much work it is to look for a scalar. Names of categories are texts.
    fileprivate var effort: Int { ranges.count + 8 * categories.count }
}
