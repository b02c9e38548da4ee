// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Decides which page of one section is asked for, and what becomes of the answer (F4, F6).
struct FeedPages<Item: Identifiable & Equatable & Sendable>: Sendable where Item.ID: Sendable {
    /// The request that is under way, or has failed.
    private enum Errand: Sendable {
        /// The first pages again, with those that are here already.
        case refresh(FeedList<Item>)
        /// The page after the newest ones, before which what was here before is shown.
        case confirm
        /// The page after the last.
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
    /// How many pages in a row had nothing new, and how many of those had items.
    private var (barren, repeated) = (0, 0)

    /// So many pages in a row with known items only are an error.
    static var mostRepeated: Int { 16 }
    /// So many pages in a row without anything new are an error. A server that filters what it has read may give many that are
    /// empty.
    static var mostBarren: Int { 256 }

    var state: FeedSectionState {
        if let failure { return .failed(failure) }
        if errand != nil { return .loading }
        return list.hasEnded ? .ended : .more
    }

    var isRefreshing: Bool { if case .refresh = errand { true } else { false } }
    /// Behind how many items the page comes that is on its way.
    var start: Int {
        switch errand {
        case .refresh: 0
        case .confirm: list.seam?.end ?? list.items.count
        case .next, nil: list.items.count
        }
    }

    /// Asks for the first page. The items here stay until it has come.
    mutating func refresh() -> Question {
        errand = .refresh(FeedList())
        (failure, barren, repeated) = (nil, 0, 0)
        isStale = !list.marks.isEmpty
        return Question(cursor: nil)
    }

    /// Where a screen comes to an end that another page is asked for: that of the newest pages, or what lies beyond it.
    ///
    /// - Parameter first: The item at which the screen begins.
    func end(below first: Int) -> Int { list.seam.map(\.end).flatMap { $0 < first ? nil : $0 } ?? list.items.count }

    /// Asks for the next page, unless something is under way, has failed, or there is none.
    ///
    /// - Parameter first: The item at which the screen begins. Below the newest pages, those that were here before go on.
    mutating func next(below first: Int = 0) -> Question? {
        guard errand == nil else { return nil }
        return ask(list.next == nil || end(below: first) < list.items.count ? .confirm : .next)
    }

    /// Asks again for the page that has failed.
    mutating func retry() -> Question? {
        guard failure != nil, let errand else { return nil }
        if case .refresh = errand { return refresh() }
        (failure, barren, repeated) = (nil, 0, 0)
        return ask(errand)
    }

    /// Asks for a page that is not the first, if there is one.
    private mutating func ask(_ errand: Errand) -> Question? {
        let isWithin = if case .confirm = errand { true } else { false }
        let question = (isWithin ? list.seam ?? list.marks.last : list.marks.last)?.next.map { Question(cursor: $0) }
        self.errand = question.map { _ in errand }
        return question
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
    /// - Returns: The next question, and the items whose description changed, as they were.
    mutating func answered(
        _ page: FeedPage<Item>, reach: Int, mostPages: Int, hasNews: Bool
    ) -> (next: Question?, former: [Item]) {
        switch errand {
        case nil: return (nil, [])
        case .next:
            let doesRepeat = page.next.map { list.hasBeen(at: $0) } ?? false
            let former = list.append(page)
            return (proceed(.next, after: page, hasNews: hasNews, doesRepeat: doesRepeat), former)
        case .confirm:
            var fresh = list.newest
            let doesRepeat = page.next.map { fresh.hasBeen(at: $0) } ?? false
            let count = fresh.items.count
            let former = formers(of: page.items)
            _ = fresh.append(page)
            let hasNews = fresh.items.count > count
            list = fresh.followed(by: list, from: max(count, fresh.joint(with: list) ?? 0))
            return (proceed(.confirm, after: page, hasNews: hasNews, doesRepeat: doesRepeat), former)
        case .refresh(var fresh):
            let doesRepeat = page.next.map { fresh.hasBeen(at: $0) } ?? false
            _ = fresh.append(page)
            let joint = fresh.joint(with: list)
            let isLong = fresh.items.count >= reach || fresh.marks.count >= mostPages
            guard fresh.hasEnded || joint != nil || isLong || doesRepeat else {
                errand = .refresh(fresh)
                return (Question(cursor: fresh.next), [])
            }
            let former = formers(of: fresh.items)
            let hasNews = !fresh.items.isEmpty
            list = joint.map { fresh.followed(by: list, from: $0) } ?? fresh
            isStale = false
            return (proceed(.confirm, after: page, hasNews: hasNews, doesRepeat: doesRepeat), former)
        }
    }

    /// Those that are described otherwise here.
    private func formers(of items: [Item]) -> [Item] {
        items.compactMap { item in list.index[item.id].map { list.items[$0] }.flatMap { $0 == item ? nil : $0 } }
    }

    /// The answer is in the list. If it has brought nothing, the page after it is asked for.
    private mutating func proceed(
        _ done: Errand, after page: FeedPage<Item>, hasNews: Bool, doesRepeat: Bool
    ) -> Question? {
        errand = nil
        barren = hasNews ? 0 : barren + 1
        repeated = hasNews ? 0 : page.items.isEmpty ? repeated : repeated + 1
        let question = hasNews && !doesRepeat ? nil : ask(done)
        let isRepeating = doesRepeat || repeated >= Self.mostRepeated
        guard errand != nil, isRepeating || barren >= Self.mostBarren else { return question }
        failure = isRepeating ? OptimistError.pagesRepeat : OptimistError.pagesEmpty(barren)
        return nil
    }
}
