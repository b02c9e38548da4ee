// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which pages and values a feed loads, and what it shows.
///
/// Each event adds to ``actions`` and ``news``, which the feed takes. Values and items that are no longer needed are
/// passed along, so that the feed can release them without a lock.
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
        /// Items that may never appear on screen, nearest first.
        case order([Item])
        case drop(any Sendable)

        var isForValues: Bool {
            switch self {
            case .want, .need, .letGo, .order: true
            case .ask, .stop, .recall, .archive, .drop: false
            }
        }
    }

    struct News: Sendable {
        var updated: Set<Item.ID> = []
        var sections: Set<Section> = []
        var isEmpty = true
    }

    struct Request: Sendable {
        let number: Int
        var task: Task<Void, Never>?
    }

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
    /// By section. A response to any other request is late and ignored.
    var requests: [Int: Request] = [:]
    /// Nil if the app has not reported the visible items yet.
    var visible: [Item.ID]?
    var isForward = true
    var wishes: [Item.ID: Wish] = [:]
    /// Only for requested items: an item far from the screen takes memory only for its description.
    var phases: [Item.ID: FeedPhase<Value>] = [:]
    private var lastNumber = 0
    private(set) var actions: [Action] = []
    private(set) var news = News()

    /// - Parameter archiveLimit: The maximum number of items to archive for each section. Nil: there is no archive.
    init(sections: [Section], filter: Filter, limits: FeedLimits, archiveLimit: Int?) {
        self.sections = sections
        self.filter = filter
        self.limits = limits
        self.archiveLimit = archiveLimit
        layout = FeedLayout(sections: sections.count)
    }

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

    var visiblePlaces: [FeedLayout<Item>.Place] { (visible ?? []).compactMap { layout.place(of: $0) }.sorted() }

    mutating func shownSections() -> [FeedSection<Section, Item>] {
        sections.indices.map { section in
            let pages = layout.pages[section]
            return FeedSection(
                id: sections[section], items: layout.items(of: section), state: pages.state, isStale: pages.isStale,
                version: layout.versions[section])
        }
    }
}
