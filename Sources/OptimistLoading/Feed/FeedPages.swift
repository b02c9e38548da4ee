// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Decides which page of one section is asked for, and what becomes of the answer (F4, F6).
struct FeedPages<Item: Identifiable & Equatable & Sendable>: Sendable where Item.ID: Sendable {
    /// What is under way, or has failed.
    private enum Errand: Sendable {
        /// The first pages anew, with those that are here already.
        case refresh(FeedList<Item>)
        case next
    }

    /// A page to ask for.
    struct Question: Equatable {
        let cursor: String?
    }

    private(set) var list = FeedList<Item>()
    /// Whether a refresh is under way or has failed, and the list is from before it.
    private(set) var isStale = false
    private var errand: Errand?
    private var failure: (any Error)?
    /// How many pages in a row had nothing new.
    private var barren = 0

    /// So many pages without anything new are an error.
    static var mostBarren: Int { 16 }

    var state: FeedSectionState {
        if let failure { return .failed(failure) }
        if errand != nil { return .loading }
        return list.hasEnded ? .ended : .more
    }

    var isRefreshing: Bool { if case .refresh = errand { true } else { false } }

    /// Asks for the first page. What is here stays until the answer is.
    mutating func refresh() -> Question {
        errand = .refresh(FeedList())
        (failure, barren) = (nil, 0)
        isStale = !list.marks.isEmpty
        return Question(cursor: nil)
    }

    /// Asks for the next page, unless something is under way, has failed, or there is none.
    mutating func next() -> Question? {
        guard errand == nil, let cursor = list.next else { return nil }
        errand = .next
        return Question(cursor: cursor)
    }

    /// Asks again for what has failed.
    mutating func retry() -> Question? {
        guard failure != nil, let errand else { return nil }
        guard case .next = errand else { return refresh() }
        (failure, barren) = (nil, 0)
        return list.next.map { Question(cursor: $0) }
    }

    mutating func failed(_ error: any Error) { failure = error }

    /// Shows what was here at the last launch, until there is an answer.
    ///
    /// - Returns: Whether it is shown.
    mutating func recalled(_ page: FeedPage<Item>) -> Bool {
        guard list.marks.isEmpty, !page.items.isEmpty, case .refresh = errand else { return false }
        _ = list.append(page)
        isStale = true
        return true
    }

    /// - Parameters:
    ///   - reach: How many items the refreshed list must have not to end above the screen's lower edge.
    ///   - mostPages: A refresh shows what it has after so many.
    ///   - hasNews: Whether the page has an item that is not here yet.
    /// - Returns: What is to be asked next, and the items that are described otherwise, as they were.
    mutating func answered(
        _ page: FeedPage<Item>, reach: Int, mostPages: Int, hasNews: Bool
    ) -> (next: Question?, former: [Item]) {
        switch errand {
        case nil: return (nil, [])
        case .next:
            let doesRepeat = page.next.map { list.hasBeen(at: $0) } ?? false
            let former = list.append(page)
            return (proceed(hasNews: hasNews, doesRepeat: doesRepeat), former)
        case .refresh(var fresh):
            let doesRepeat = page.next.map { fresh.hasBeen(at: $0) } ?? false
            _ = fresh.append(page)
            let joined = fresh.hasEnded ? nil : fresh.followed(by: list)
            let isLong = fresh.items.count >= reach || fresh.marks.count >= mostPages
            guard fresh.hasEnded || joined != nil || isLong || doesRepeat else {
                errand = .refresh(fresh)
                return (Question(cursor: fresh.next), [])
            }
            let changed = fresh.items.compactMap { item in
                list.index[item.id].map { list.items[$0] }.flatMap { $0 == item ? nil : $0 }
            }
            list = joined ?? fresh
            isStale = false
            return (proceed(hasNews: !fresh.items.isEmpty, doesRepeat: doesRepeat && joined == nil), changed)
        }
    }

    /// The answer is in the list. If it has brought nothing, the next page is asked for.
    private mutating func proceed(hasNews: Bool, doesRepeat: Bool) -> Question? {
        barren = hasNews ? 0 : barren + 1
        guard !doesRepeat, barren < Self.mostBarren else {
            (errand, failure) = (.next, OptimistError.pagesRepeat)
            return nil
        }
        errand = nil
        return hasNews ? nil : next()
    }
}
