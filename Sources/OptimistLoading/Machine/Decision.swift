// This source file is part of the Optimist open source project, under the MIT licence.

@usableFromInline
struct Decision: Sendable {
    @usableFromInline
    enum Action: Sendable {
        case read(FlightID)
        /// `former` is nil if there is no value that the source could confirm.
        case fetch(FlightID, former: Validity?)
        case cancel(Task<Void, Never>)
        /// Deliver an event to the holder at this index.
        case tell(News, Int, version: Int)
        /// Call ``LoaderMachine/tick(at:)`` at this time.
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
    /// Places where a value or flight was dropped.
    @usableFromInline var touched: [Int] = []

    /// Errors that the caller must release without the lock.
    @usableFromInline var released: [any Error] = []

    @usableFromInline init() {}
}
