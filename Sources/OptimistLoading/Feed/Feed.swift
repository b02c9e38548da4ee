// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// Pages of items in sections. The value of each item is loaded when the item comes near the screen.
///
/// Items appear as soon as their page arrives, and each value as soon as it is loaded, without waiting for the other
/// values. Observers receive the newest snapshot, at most once per frame. Any thread may use the feed. Loading begins
/// with ``refresh()``.
///
/// ```swift
/// let feed = Feed(sections: [Kind.chosen, .recommended], filter: Filter(people: 2), values: pictures, key: \.url) {
///     try await api.page($0.section, $0.filter, after: $0.cursor)
/// }
/// feed.refresh()
/// for await snapshot in feed.snapshots() { draw(snapshot) }
/// // Whenever the screen has scrolled:
/// feed.setVisible(visibleIDs)
/// ```
///
/// An item is the page's description of an entry: an id, its size on screen, and other data the app needs. Values take
/// memory only in the loader and, for items near the screen, in the snapshot.
///
/// > Important: The feed hashes and compares ids and items while it holds its lock: their `==` and `hash(into:)` must
/// > not call the feed.
public final class Feed<
    Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Identifiable & Equatable & Sendable,
    Value: Sendable
>: Sendable where Item.ID: Sendable {
    /// A request for a page.
    public typealias Request = FeedRequest<Section, Filter>
    /// A page as the source returns it.
    public typealias Page = FeedPage<Item>
    /// The state of the feed at one moment.
    public typealias Snapshot = FeedSnapshot<Section, Filter, Item, Value>
    typealias Machine = FeedMachine<Section, Filter, Item, Value>

    let state: Mutex<State>
    private let values: FeedValues<Item, Value>
    private let archive: FeedArchive<Section, Filter, Item>?
    private let source: @Sendable (Request) async throws -> Page
    let dependencies: Dependencies
    let elapsed: Stopwatch

    /// Creates an empty feed.
    ///
    /// - Parameters:
    ///   - sections: The sections in display order. They load and fail independently.
    ///   - filter: The initial filter.
    ///   - limits: How far ahead of the screen the feed loads.
    ///   - archive: Keeps the first pages between launches. Default: none.
    ///   - values: Loads the values.
    ///   - key: Returns the loader's key for an item.
    ///   - freshness: Whether a cached value is good enough. Default: it is shown, and replaced if it has expired.
    ///   - dependencies: The clock and tasks.
    ///   - source: Fetches a page. Called for one page at a time in each section, in a new task that is cancelled when
    ///     the page is no longer needed.
    /// - Precondition: There is at least one section, and no duplicates.
    public init<Key>(
        sections: [Section], filter: Filter, limits: FeedLimits = FeedLimits(),
        archive: FeedArchive<Section, Filter, Item>? = nil, values: Loader<Key, Value>,
        key: @escaping @Sendable (Item) -> Key, freshness: Freshness = .cachedThenRefreshed,
        dependencies: Dependencies = Dependencies(), source: @escaping @Sendable (Request) async throws -> Page
    ) {
        precondition(
            !sections.isEmpty && Set(sections).count == sections.count,
            "A feed needs at least one section, and its sections must be unique.")
        let machine = Machine(sections: sections, filter: filter, limits: limits, archiveLimit: archive?.limit)
        state = Mutex(State(machine, frame: limits.frame))
        self.values = FeedValues(values, freshness, key)
        self.archive = archive
        self.source = source
        self.dependencies = dependencies
        elapsed = Stopwatch(dependencies.clock)
    }

    deinit {
        let (tasks, tickets, bells) = state.withLock { state in
            (
                state.machine.requests.values.compactMap(\.task), state.machine.wishes.values.compactMap(\.ticket),
                state.observers.values.map(\.bell)
            )
        }
        for task in tasks { task.cancel() }
        values.batch { for ticket in tickets { ticket.cancel() } }
        for bell in bells { bell() }
    }

    // MARK: - Changes by the app

    /// Loads the first pages, or reloads them. Existing items stay, marked stale, until the new pages arrive, and are
    /// then updated by difference.
    ///
    /// Each section requests new pages until one of these holds: the last two new items are adjacent in the old list,
    /// the new pages cover the visible items, or ``FeedLimits/refreshPages`` pages are loaded. In the first case, the
    /// old items after these two stay, so that visible items keep their place. Earlier old items are removed unless the
    /// new pages contain them. If the server still has a removed item, the item returns at its new place: as the screen
    /// comes near, the feed requests further new pages. The section ends with the last of these.
    public func refresh() { update { $0.refresh() } }

    func begin() { update { if !$0.hasBegun { $0.refresh() } } }

    /// Shows another filter's items. The previous items are removed immediately, and late responses for them are
    /// ignored.
    ///
    /// Without effect if the filter is the same. Loads the first pages if the feed has been refreshed before.
    public func setFilter(_ filter: Filter) { update { $0.setFilter(filter) } }

    /// Removes all items immediately, then empties the archive: see ``FeedArchive/removeAll()``. Call it when the user
    /// signs out.
    ///
    /// Late responses are ignored, values are released, and nothing is requested before the next ``refresh()``. The
    /// loader keeps the values: see ``Loader/removeAll()``. Returns when the archive's folder is empty. Cancellation
    /// has no effect.
    public func removeAll() async {
        update { $0.removeAll() }
        await archive?.removeAll()
    }

    /// Sets the visible items, in any order. Call it whenever they change.
    ///
    /// The feed loads these items first, then more in the direction of scrolling. It releases items that are no longer
    /// near, and cancels their fetches unless another caller needs them. When the end of a section comes near, it
    /// requests the next page. Values in memory are in the snapshot when this returns. Unknown ids are ignored. An
    /// empty list releases everything. Until the first call, and while none of the ids is known, the feed loads its
    /// first items.
    public func setVisible(_ ids: some Sequence<Item.ID>) {
        let ids = Array(ids)
        update { $0.show(ids) }
    }

    /// Requests the next page of a section early.
    ///
    /// This is the page after the newest pages. If the screen is below these after a refresh, it is the page after the
    /// last item. Without effect if all pages are loaded, a request is running or the last one has failed.
    public func loadMore(in section: Section) { update { $0.next(in: section) } }

    /// Retries an item whose last fetch failed, even during the loader's pause after failures, and even if an earlier
    /// value is shown. Otherwise without effect.
    public func retry(_ id: Item.ID) { update { $0.retry(id) } }

    /// Retries a section's failed page. Otherwise without effect.
    public func retry(section: Section) { update { $0.retry(section: section) } }

    /// Retries everything that has failed, for example when the network is back.
    public func retryAll() { update { $0.retryAll() } }

    // MARK: - Running the machine's actions

    /// Passes an event to the machine, and runs its actions before notifying observers. Results that arrive
    /// immediately, such as values in memory, are in the same snapshot.
    func update(_ event: (inout Machine) -> Void) {
        let generation = archive?.generation ?? 0
        let actions = state.withLock { state in
            event(&state.machine)
            state.begin()
            return state.machine.takeActions()
        }
        // One batch, so that the slots of released items go to the items that are near now.
        if actions.contains(where: \.isForValues) {
            values.batch { for action in actions { perform(action, generation) } }
        } else {
            for action in actions { perform(action, generation) }
        }
        for bell in state.withLock({ $0.end() }) { bell() }
    }

    private func perform(_ action: Machine.Action, _ generation: Int) {
        switch action {
        case .ask(let request, let number): ask(request, number)
        case .stop(let task): task.cancel()
        case .recall(let section, let filter, let era): recall(section, filter, era)
        case .archive(let page, let section, let filter):
            archive?.keep(page, of: section, filter, generation: generation)
        case .want(let item, let priority, let number, let isRetry): want(item, priority, number, isRetry: isRetry)
        case .need(let ticket, let priority): ticket.setPriority(priority)
        case .letGo(let ticket): ticket.cancel()
        case .order(let items): values.order(items)
        case .drop: break
        }
    }

    private func ask(_ request: Request, _ number: Int) {
        let task = dependencies.spawn { [weak self, source] in
            let answer: Result<Page, any Error>
            do { answer = .success(try await source(request)) } catch { answer = .failure(error) }
            self?.update { $0.answered(answer, toRequest: number) }
        }
        if !state.withLock({ $0.machine.keep(task, ofRequest: number) }) { task.cancel() }
    }

    private func recall(_ section: Section, _ filter: Filter, _ era: Int) {
        _ = dependencies.spawn { [weak self, archive] in
            guard let page = await archive?.page(of: section, filter) else { return }
            self?.update { $0.recalled(page, of: section, era: era) }
        }
    }

    private func want(_ item: Item, _ priority: LoadPriority, _ number: Int, isRetry: Bool) {
        let id = item.id
        let ticket = values.subscribe(item, priority, isRetry) { [weak self, values] event in
            let isExpired = values.isExpired(item)
            self?.update { $0.received(event, of: id, number: number, isExpired: isExpired) }
        }
        switch state.withLock({ $0.machine.keep(ticket, of: id, number: number) }) {
        case nil: ticket.cancel()
        case priority?: break
        case let other?: ticket.setPriority(other)
        }
    }
}

extension Feed where Filter == NoFilter {
    /// Creates a feed without a filter. Parameters as for the other initializer.
    public convenience init<Key>(
        sections: [Section], limits: FeedLimits = FeedLimits(), archive: FeedArchive<Section, Filter, Item>? = nil,
        values: Loader<Key, Value>, key: @escaping @Sendable (Item) -> Key,
        freshness: Freshness = .cachedThenRefreshed, dependencies: Dependencies = Dependencies(),
        source: @escaping @Sendable (Request) async throws -> Page
    ) {
        self.init(
            sections: sections, filter: NoFilter(), limits: limits, archive: archive, values: values, key: key,
            freshness: freshness, dependencies: dependencies, source: source)
    }
}
