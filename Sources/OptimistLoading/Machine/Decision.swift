// This source file is part of the Optimist open source project, under the MIT licence.

/// What a loader's machine has decided.
@usableFromInline
struct Decision: Sendable {
    @usableFromInline
    enum Action: Sendable {
        case read(FlightID)
        /// Nil: there is no value yet that the source could confirm.
        case fetch(FlightID, former: Validity?)
        case cancel(Task<Void, Never>)
        /// The one at this place of the holders.
        case tell(News, Int, version: Int)
        /// Until that time nothing happens by itself.
        case wake(at: Duration)
    }

    @usableFromInline
    enum News: Sendable {
        case progress(Double)
        case partial
        case value(LoadOrigin)
        case failure(any Error)
    }

    @usableFromInline var actions: [Action] = []
    /// The places at which something has ended: a value was let go, or a flight.
    @usableFromInline var touched: [Int] = []

    /// Errors that the caller must release outside of the lock.
    @usableFromInline var released: [any Error] = []

    @usableFromInline init() {}
}
