// This source file is part of the Optimist open source project, under the MIT licence.

/// Finds dependency cycles. Pure.
enum Cycles {
    /// Returns the cycles, each after the cycles that it depends on. An item outside every cycle is a cycle of one.
    ///
    /// - Parameter needs: For each item, the indexes of its dependencies.
    /// - Returns: The indexes of the items in each cycle.
    ///
    /// > Source: Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM Journal on Computing 1, 1972.
    static func inOrder(needs: [[Int]]) -> [[Int]] {
        var cycles: [[Int]] = []
        var numbers = [Int?](repeating: nil, count: needs.count)
        /// The lowest visit number that was reached from each item.
        var firsts = [Int](repeating: 0, count: needs.count)
        var isOpen = [Bool](repeating: false, count: needs.count)
        var open: [Int] = []
        var count = 0
        for start in needs.indices where numbers[start] == nil {
            var path: [(place: Int, rest: [Int])] = []
            func enter(_ place: Int) {
                (numbers[place], firsts[place], isOpen[place]) = (count, count, true)
                count += 1
                open.append(place)
                path.append((place, needs[place]))
            }
            enter(start)
            while let here = path.last?.place {
                if let next = path[path.count - 1].rest.popLast() {
                    if let number = numbers[next] {
                        if isOpen[next] { firsts[here] = min(firsts[here], number) }
                    } else {
                        enter(next)
                    }
                    continue
                }
                path.removeLast()
                if let former = path.last?.place { firsts[former] = min(firsts[former], firsts[here]) }
                guard firsts[here] == numbers[here], let begin = open.lastIndex(of: here) else { continue }
                cycles.append(Array(open[begin...]))
                for place in open[begin...] { isOpen[place] = false }
                open.removeSubrange(begin...)
            }
        }
        return cycles
    }
}
