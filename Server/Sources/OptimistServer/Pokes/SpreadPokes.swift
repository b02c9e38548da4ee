// This source file is part of the Optimist open source project, under the MIT licence.

/// The pokes of a large audience that wait for their turn, so that the listeners do not all ask the server at once.
struct SpreadPokes {
    /// An account with more listeners pokes them in slices.
    static let listenersAtOnce = 200
    /// 500 listeners in a second.
    static let slice = 50
    static let pause = Duration.milliseconds(100)

    private var waiting: [ObjectIdentifier: (listener: Listener, change: PendingEvents.Change)] = [:]
    private var order: [ObjectIdentifier] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// A listener that waits already learns of this change in the same poke.
    mutating func add(_ listeners: [Listener], _ change: PendingEvents.Change) {
        for listener in listeners {
            let id = ObjectIdentifier(listener)
            if let former = waiting[id]?.change {
                waiting[id]?.change = former.followed(by: change)
            } else {
                waiting[id] = (listener, change)
                order.append(id)
            }
        }
    }

    mutating func take() -> [(listener: Listener, change: PendingEvents.Change)] {
        let next = order.prefix(Self.slice)
        order.removeFirst(next.count)
        return next.compactMap { waiting.removeValue(forKey: $0) }
    }
}
