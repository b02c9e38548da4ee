// This source file is part of the Optimist open source project, under the MIT licence.

/// Fetches that wait for values of their own loader.
///
/// Such a fetch does nothing while it waits. So it lends its slot to the fetch that it waits for, and takes it back
/// afterwards: otherwise as many of them as there are slots would wait for ever.
extension LoaderMachine {
    /// A fetch begins to wait for a value.
    mutating func suspend(_ holder: Holder) {
        guard let asker = holder.asker, let flight = flight(asker) else { return }
        flights[asker.place]?.asking += 1
        if flight.asking == 0 { lanes[flight.lane].suspended += 1 }
    }

    /// A fetch waits for a value no more.
    mutating func resume(_ holder: Holder) {
        guard let asker = holder.asker, let flight = flight(asker), flight.asking > 0 else { return }
        flights[asker.place]?.asking -= 1
        if flight.asking == 1 { lanes[flight.lane].suspended -= 1 }
    }

    /// Whether a place's flight waits for another flight already, be it by way of others. If that waited for the place
    /// too, neither would ever end.
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
