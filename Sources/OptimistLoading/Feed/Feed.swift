// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// Pages of items in sections, whose values are loaded one by one as they come near the screen.
///
/// A page's items have their places as soon as the page is here, and each has its value as soon as that is: none waits for
/// another (F1). Observers are given the newest snapshot, once in a frame at most (F3). Any thread may call. Nothing is
/// loaded before ``refresh()``.
///
/// ```swift
/// let feed = Feed(sections: [Kind.chosen, .recommended], filter: Filter(people: 2), values: pictures, key: \.url) {
///     try await api.page($0.section, $0.filter, after: $0.cursor)
/// }
/// feed.refresh()
/// for await snapshot in feed.snapshots() { draw(snapshot) }
/// // Whenever the screen has scrolled:
/// feed.show(visibleIDs)
/// ```
///
/// An item is what its page says of it: an id, the size of its place, whatever else the app needs. Values take memory only
/// in the loader, and in the snapshot if they are near the screen.
///
/// > Important: Ids and items are hashed and compared under the feed's lock: their `==` and `hash(into:)` must not call it.
public final class Feed<
    Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Identifiable & Equatable & Sendable,
    Value: Sendable
>: Sendable where Item.ID: Sendable {
    /// A page that the feed asks its source for.
    public typealias Request = FeedRequest<Section, Filter>
    /// A page as the source returns it.
    public typealias Page = FeedPage<Item>
    /// The feed at one moment.
    public typealias Snapshot = FeedSnapshot<Section, Filter, Item, Value>
    typealias Machine = FeedMachine<Section, Filter, Item, Value>

    let state: Mutex<State>
    private let values: FeedValues<Item, Value>
    private let archive: FeedArchive<Section, Filter, Item>?
    private let source: @Sendable (Request) async throws -> Page
    let dependencies: Dependencies
    let elapsed: Stopwatch

    /// - Parameters:
    ///   - sections: In the order in which they are shown, each once. They load and fail independently (F5).
    ///   - filter: The first selection.
    ///   - limits: How far ahead of the screen it works.
    ///   - archive: Where the first pages are kept between launches. Default: nowhere.
    ///   - values: Loads the values.
    ///   - key: Under which key the loader has an item's value.
    ///   - freshness: Whether a value that is here already will do. Default: it is shown, and replaced if it has expired.
    ///   - dependencies: Time and tasks.
    ///   - source: Gets a page. Called for one page at a time in each section, in a task of its own, which is cancelled
    ///     when the feed can no longer use its answer.
    /// - Precondition: There is at least one section, and none comes twice.
    public init<Key>(
        sections: [Section], filter: Filter, limits: FeedLimits = FeedLimits(),
        archive: FeedArchive<Section, Filter, Item>? = nil, values: Loader<Key, Value>,
        key: @escaping @Sendable (Item) -> Key, freshness: Freshness = .cachedThenRefreshed,
        dependencies: Dependencies = Dependencies(), source: @escaping @Sendable (Request) async throws -> Page
    ) {
        precondition(!sections.isEmpty && Set(sections).count == sections.count, "each section once, and one at least")
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

    // MARK: - What the app says

    /// Loads the first pages, or loads them again: the items that are here stay meanwhile, marked stale, and change by
    /// difference (F6).
    ///
    /// As soon as the new pages end with two items that were neighbours here, the items that followed those stay. Until
    /// then one new page after the other is asked for, as far as the screen has scrolled and up to
    /// ``FeedLimits/refreshPages``. So what is on the screen keeps its place if it is still there. Items above the place
    /// where both meet that are not in the new pages go. If the server still has such an item, it comes back at its new
    /// place: the feed asks for more new pages as the screen comes near, and the section ends with the last of them.
    public func refresh() { update { $0.refresh() } }

    /// Loads the first pages, unless that has been done.
    func begin() { update { if !$0.hasBegun { $0.refresh() } } }

    /// Shows another selection. The items of the earlier one go at once, and late answers for it never appear (F7).
    ///
    /// Does nothing if the filter is the same. Loads the first pages if the feed has been refreshed before.
    public func setFilter(_ filter: Filter) { update { $0.setFilter(filter) } }

    /// Forgets all items at once, and then what its archive keeps: the whole cache of that, see ``FeedArchive/removeAll()``.
    ///
    /// For signing out (C10): late answers are dropped, values are let go, and nothing is asked for before the next ``refresh()``.
    /// The loader of the values keeps them: see ``Loader/removeAll()``. Returns when nothing is left on the disk. To cancel
    /// the task changes nothing.
    public func removeAll() async {
        update { $0.removeAll() }
        await archive?.removeAll()
    }

    /// Says which items are on the screen, in any order, whenever that changes.
    ///
    /// They are loaded first, then some more in the direction of scrolling. Items that have left are let go, and their
    /// fetches are cancelled unless another caller waits for them (F8). The next page is asked for when its section's end
    /// comes near (F4). Values that are in memory are in the snapshot when this returns. Unknown ids are ignored. No ids
    /// let everything go. Until the first call, and while none of the ids is here, what comes first in the feed is loaded
    /// ahead.
    public func setVisible(_ ids: some Sequence<Item.ID>) {
        let ids = Array(ids)
        update { $0.show(ids) }
    }

    /// Asks for the next page of a section ahead of need: that after the newest ones, or, if the screen is below them after a
    /// refresh, that after the last. Does nothing if there is none, if a page is on its way or if one has failed.
    public func loadMore(in section: Section) { update { $0.next(in: section) } }

    /// Loads a value whose last fetch has failed once more, also during the loader's pause after a failure, and also if an
    /// earlier value is shown. Does nothing else.
    public func retry(_ id: Item.ID) { update { $0.retry(id) } }

    /// Asks once more for the page of a section that has failed. Does nothing else.
    public func retry(section: Section) { update { $0.retry(section: section) } }

    /// Asks once more for all that has failed, such as when the network is back.
    public func retryAll() { update { $0.retryAll() } }

    // MARK: - Doing what the machine says

    /// Hands an event to the machine, does what follows, and tells observers of all that together: what comes back at once,
    /// such as a value in memory, is in the same snapshot.
    func update(_ event: (inout Machine) -> Void) {
        let generation = archive?.generation ?? 0
        let actions = state.withLock { state in
            event(&state.machine)
            state.begin()
            return state.machine.takeActions()
        }
        // In one step, so that the slots of items that have left go to the items that are near now.
        if actions.contains(where: \.isForValues) {
            values.batch { for action in actions { perform(action, generation) } }
        } else {
            for action in actions { perform(action, generation) }
        }
        for bell in state.withLock({ $0.end() }) { bell() }
    }

    /// - Parameter generation: The archive's, of the time before the machine was asked.
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
    /// A feed that is not filtered. Parameters as those of the other initializer.
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
