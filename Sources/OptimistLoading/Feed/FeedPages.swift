// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Decides which page of a section to request, and how to merge it into the list.
struct FeedPages<Item: Identifiable & Equatable & Sendable>: Sendable where Item.ID: Sendable {
    /// The request that is running or has failed.
    private enum Errand: Sendable {
        /// The first pages again. The list contains the pages that this refresh has loaded.
        case refresh(FeedList<Item>)
        /// The page after the newest pages. Items from before a refresh follow it.
        case confirm
        /// The page after the last item.
        case next
    }

    struct Question: Equatable {
        let cursor: String?
    }

    private(set) var list = FeedList<Item>()
    private(set) var isStale = false
    private var errand: Errand?
    private var failure: (any Error)?
    /// The number of consecutive pages without new items, and how many of these were not empty.
    private var (barren, repeated) = (0, 0)

    /// This many consecutive pages with only known items are an error.
    static var mostRepeated: Int { 16 }
    /// This many consecutive pages without new items are an error. The number is large, because a server that filters
    /// after reading may return many empty pages.
    static var mostBarren: Int { 256 }

    var state: FeedSectionState {
        if let failure { return .failed(failure) }
        if errand != nil { return .loading }
        return list.hasEnded ? .ended : .more
    }

    var isRefreshing: Bool { if case .refresh = errand { true } else { false } }
    /// The number of items before the requested page.
    var start: Int {
        switch errand {
        case .refresh: 0
        case .confirm: list.seam?.end ?? list.items.count
        case .next, nil: list.items.count
        }
    }

    /// The current items stay until the first page arrives.
    mutating func refresh() -> Question {
        errand = .refresh(FeedList())
        (failure, barren, repeated) = (nil, 0, 0)
        isStale = !list.marks.isEmpty
        return Question(cursor: nil)
    }

    /// The end that triggers the next request: the end of the newest pages, or of all items if the screen begins below
    /// the newest pages.
    ///
    /// - Parameter first: The first visible item.
    func end(below first: Int) -> Int { list.seam.map(\.end).flatMap { $0 < first ? nil : $0 } ?? list.items.count }

    /// Returns the next request. Nil if a request is running or has failed, or if all pages are loaded.
    ///
    /// - Parameter first: The first visible item. If this item is below the newest pages, the next request is for older
    ///   items.
    mutating func next(below first: Int = 0) -> Question? {
        guard errand == nil else { return nil }
        return ask(list.next == nil || end(below: first) < list.items.count ? .confirm : .next)
    }

    mutating func retry() -> Question? {
        guard failure != nil, let errand else { return nil }
        if case .refresh = errand { return refresh() }
        (failure, barren, repeated) = (nil, 0, 0)
        return ask(errand)
    }

    private mutating func ask(_ errand: Errand) -> Question? {
        let isWithin = if case .confirm = errand { true } else { false }
        let question = (isWithin ? list.seam ?? list.marks.last : list.marks.last)?.next.map { Question(cursor: $0) }
        self.errand = question.map { _ in errand }
        return question
    }

    mutating func failed(_ error: any Error) { failure = error }

    /// Shows the archived items until the source responds.
    ///
    /// - Returns: False if the archived items are not needed.
    mutating func recalled(_ page: FeedPage<Item>) -> Bool {
        guard list.marks.isEmpty, !page.items.isEmpty, case .refresh = errand else { return false }
        _ = list.append(page)
        isStale = true
        return true
    }

    /// Merges a page.
    ///
    /// - Parameters:
    ///   - reach: How many items a refreshed list needs to cover the visible items.
    ///   - mostPages: The most pages that a refresh collects before the list shows them.
    ///   - hasNews: Whether the page has a new item.
    /// - Returns: The next request, and the former versions of items whose content changed.
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

    private func formers(of items: [Item]) -> [Item] {
        items.compactMap { item in list.index[item.id].map { list.items[$0] }.flatMap { $0 == item ? nil : $0 } }
    }

    /// Completes a request. If the page did not have new items, requests the next one.
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
