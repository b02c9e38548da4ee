// This source file is part of the Optimist open source project, under the MIT licence.

extension FeedMachine {
    mutating func show(_ ids: [Item.ID]) {
        guard ids != visible else { return }
        let former = visiblePlaces.first
        visible = ids
        let places = visiblePlaces
        if let former, let first = places.first, first != former { isForward = former < first }
        settle(places)
    }

    mutating func retry(_ id: Item.ID) {
        guard phases[id]?.failure != nil, let wish = wishes[id] else { return }
        renew(wish, wish.item, isRetry: true)
    }

    mutating func retryAll() {
        for section in sections { retry(section: section) }
        for wish in wishes.values.sorted(by: { $0.number < $1.number }) { retry(wish.item.id) }
    }

    /// - Returns: The value's current priority. Nil if it is no longer needed.
    mutating func keep(_ ticket: LoadSubscription, of id: Item.ID, number: Int) -> LoadPriority? {
        guard wishes[id]?.number == number else { return nil }
        wishes[id]?.ticket = ticket
        return wishes[id]?.priority
    }

    /// - Parameter isExpired: Whether a cached value must be replaced.
    mutating func received(_ event: LoadEvent<Value>, of id: Item.ID, number: Int, isExpired: Bool) {
        guard wishes[id]?.number == number else { return act(.drop(event)) }
        let former = phases[id]
        let phase: FeedPhase<Value>
        switch event {
        case .progress: return
        case .partial(let value): phase = .stale(value)
        case .value(let value, let origin): phase = origin == .source || !isExpired ? .loaded(value) : .stale(value)
        case .failure(let error): phase = former?.value.map { .stale($0, failure: error) } ?? .failed(error)
        }
        change(id, to: phase)
    }

    // MARK: - Items near the screen

    /// Requests the values near the screen, releases all others, and requests pages that will be needed.
    mutating func settle() { settle(visiblePlaces) }

    private mutating func settle(_ places: [FeedLayout<Item>.Place]) {
        let wanted = wanted(around: places)
        let ids = Set(wanted.map(\.item.id))
        var hasChanged = false
        for near in wanted {
            guard let wish = wishes[near.item.id] else {
                hasChanged = true
                want(near.item, near.priority)
                continue
            }
            if wish.priority != near.priority {
                hasChanged = true
                wishes[near.item.id]?.priority = near.priority
                if let ticket = wish.ticket { act(.need(ticket, near.priority)) }
            }
            if wish.item != near.item { renew(wish, near.item) }
        }
        let left = wishes.values.filter { !ids.contains($0.item.id) }
        for wish in left.sorted(by: { $0.number < $1.number }) {
            wishes[wish.item.id] = nil
            change(wish.item.id, to: nil)
            letGo(wish)
        }
        if hasChanged { act(.order(wanted.filter { $0.priority == .prefetch }.map(\.item))) }
        askAhead(of: places)
    }

    private struct Near {
        let item: Item
        let priority: LoadPriority
    }

    /// The items near the screen, nearest first. Without a visible item, these are the first items: either the app has
    /// not reported visible items, or it has not drawn this list yet and has reported ids of an earlier list.
    private func wanted(around places: [FeedLayout<Item>.Place]) -> [Near] {
        if let visible, visible.isEmpty { return [] }
        let (first, last) = (places.first, places.last)
        let isForward = isForward || places.isEmpty
        var wanted = places.map { Near(item: layout.item(at: $0), priority: .visible) }
        let ahead = layout.items(beside: isForward ? last : first, isForward: isForward, count: limits.ahead)
        // Only a quarter has the priority `soon`: an item farther away may never appear.
        let soon = (limits.ahead + 3) / 4
        wanted += ahead.prefix(soon).map { Near(item: $0, priority: .soon) }
        wanted += ahead.dropFirst(soon).map { Near(item: $0, priority: .prefetch) }
        guard let first, let last else { return wanted }
        let behind = layout.items(beside: isForward ? first : last, isForward: !isForward, count: limits.behind)
        return wanted + behind.map { Near(item: $0, priority: .prefetch) }
    }

    private mutating func askAhead(of places: [FeedLayout<Item>.Place]) {
        for section in sections.indices {
            let places = places.filter { $0.section == section }
            guard let first = places.first, let last = places.last else { continue }
            let rest = layout.pages[section].end(below: first.index) - 1 - last.index
            if rest < limits.nextPage { next(in: section, below: first.index) }
        }
    }

    // MARK: - Wishes

    private mutating func want(_ item: Item, _ priority: LoadPriority, isRetry: Bool = false) {
        let wish = Wish(number: makeNumber(), item: item, priority: priority)
        wishes[item.id] = wish
        act(.want(item, priority, number: wish.number, isRetry: isRetry))
    }

    /// Requests a value again. The value that is shown during the request is stale.
    private mutating func renew(_ wish: Wish, _ item: Item, isRetry: Bool = false) {
        want(item, wishes[item.id]?.priority ?? wish.priority, isRetry: isRetry)
        letGo(wish)
        change(item.id, to: phases[item.id]?.value.map { .stale($0) })
    }

    private mutating func letGo(_ wish: Wish) {
        act(.drop(wish.item))
        if let ticket = wish.ticket { act(.letGo(ticket)) }
    }

    private mutating func change(_ id: Item.ID, to phase: FeedPhase<Value>?) {
        let former = phases[id]
        guard former != nil || phase != nil else { return }
        phases[id] = phase
        if let former { act(.drop(former)) }
        tell([id])
    }
}
