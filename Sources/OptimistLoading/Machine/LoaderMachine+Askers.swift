// This source file is part of the Optimist open source project, under the MIT licence.

/// Fetches that wait for values of their own loader.
///
/// A waiting fetch is idle, so it lends its slot to the fetch that it waits for. Otherwise the loader would deadlock as
/// soon as all slots belong to waiting fetches.
extension LoaderMachine {
    /// A fetch begins to wait for a value.
    mutating func suspend(_ holder: Holder) {
        guard let asker = holder.asker, let flight = flight(asker) else { return }
        flights[asker.place]?.asking += 1
        if flight.asking == 0 { lanes[flight.lane].suspended += 1 }
    }

    /// A fetch stops waiting for a value.
    mutating func resume(_ holder: Holder) {
        guard let asker = holder.asker, let flight = flight(asker), flight.asking > 0 else { return }
        flights[asker.place]?.asking -= 1
        if flight.asking == 1 { lanes[flight.lane].suspended -= 1 }
    }

    /// Whether the flight at a place waits for another flight, directly or through further flights. If so, that other
    /// flight must not wait for this place.
    func isWaited(for flight: FlightID, by place: Int) -> Bool {
        var (met, next): (Set<Int>, [Int]) = ([flight.place], [flight.place])
        while let present = next.popLast() {
            if present == place { return true }
            var waiter = waiters.first(of: present)
            while let number = waiter {
                waiter = waiters.next(after: number)
                guard let asker = holders[number]?.asker, self.flight(asker) != nil else { continue }
                if met.insert(asker.place).inserted { next.append(asker.place) }
            }
        }
        return false
    }
}
