// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides what a feed asks for, what of it is shown, and what is loaded (F1–F8).
///
/// Each event leaves its consequences in ``actions`` and ``news``, which the feed takes. What it no longer needs goes out
/// with them, to be released where no lock is held.
struct FeedMachine<
    Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Identifiable & Equatable & Sendable,
    Value: Sendable
>: Sendable where Item.ID: Sendable {
    enum Action: Sendable {
        case ask(FeedRequest<Section, Filter>, number: Int)
        case stop(Task<Void, Never>)
        case recall(Section, Filter, era: Int)
        case archive(FeedPage<Item>, Section, Filter)
        case want(Item, LoadPriority, number: Int, isRetry: Bool)
        case need(LoadSubscription, LoadPriority)
        case letGo(LoadSubscription)
        /// Items that may never come onto the screen, the nearest first.
        case order([Item])
        case drop(any Sendable)

        /// Whether the loader of the values is told of it.
        var isForValues: Bool {
            switch self {
            case .want, .need, .letGo, .order: true
            case .ask, .stop, .recall, .archive, .drop: false
            }
        }
    }

    /// What observers have to be told.
    struct News: Sendable {
        var updated: Set<Item.ID> = []
        var sections: Set<Section> = []
        var isEmpty = true
    }

    struct Request: Sendable {
        let number: Int
        var task: Task<Void, Never>?
    }

    /// An item whose value is wanted.
    struct Wish: Sendable {
        let number: Int
        let item: Item
        var priority: LoadPriority
        var ticket: LoadSubscription?
    }

    let sections: [Section]
    let limits: FeedLimits
    let archiveLimit: Int?
    var filter: Filter
    var layout: FeedLayout<Item>
    /// Changes with the filter.
    var era = 0
    var hasBegun = false
    /// By section. An answer to any other one comes too late (F7).
    var requests: [Int: Request] = [:]
    /// Nil: the app has not said yet.
    var visible: [Item.ID]?
    var isForward = true
    var wishes: [Item.ID: Wish] = [:]
    /// Only of wanted items: an item far from the screen costs its description and no more.
    var phases: [Item.ID: FeedPhase<Value>] = [:]
    private var lastNumber = 0
    private(set) var actions: [Action] = []
    private(set) var news = News()

    /// - Parameter archiveLimit: The most items of a section that are kept for the next launch. Nil: there is no archive.
    init(sections: [Section], filter: Filter, limits: FeedLimits, archiveLimit: Int?) {
        self.sections = sections
        self.filter = filter
        self.limits = limits
        self.archiveLimit = archiveLimit
        layout = FeedLayout(sections: sections.count)
    }

    /// The actions to take now.
    mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    mutating func takeNews() -> News {
        defer { news = News() }
        return news
    }

    mutating func act(_ action: Action) { actions.append(action) }

    mutating func tell(_ ids: [Item.ID] = [], section: Int? = nil) {
        news.updated.formUnion(ids)
        if let section { news.sections.insert(sections[section]) }
        news.isEmpty = false
    }

    mutating func makeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Where the items are that are on the screen, in the order of the sections.
    var visiblePlaces: [FeedLayout<Item>.Place] { (visible ?? []).compactMap { layout.place(of: $0) }.sorted() }

    /// The sections as an observer is shown them.
    mutating func shownSections() -> [FeedSection<Section, Item>] {
        sections.indices.map { section in
            let pages = layout.pages[section]
            return FeedSection(
                id: sections[section], items: layout.items(of: section), state: pages.state, isStale: pages.isStale,
                version: layout.versions[section])
        }
    }
}
