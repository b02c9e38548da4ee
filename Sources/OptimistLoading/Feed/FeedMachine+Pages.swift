// This source file is part of the Optimist open source project, under the MIT licence.

extension FeedMachine {
    mutating func refresh() {
        let isFirst = !hasBegun
        hasBegun = true
        for section in sections.indices {
            if isFirst, archiveLimit != nil { act(.recall(sections[section], filter, era: era)) }
            stop(section)
            act(.drop(layout.pages[section]))
            ask(layout.update(section) { $0.refresh() }, for: section)
        }
    }

    mutating func setFilter(_ new: Filter) {
        guard new != filter else { return }
        filter = new
        let hadBegun = hasBegun
        removeAll()
        if hadBegun { refresh() }
    }

    mutating func removeAll() {
        for section in sections.indices { stop(section) }
        era += 1
        act(.drop(layout))
        layout = FeedLayout(replacing: layout)
        visible = nil
        isForward = true
        settle()
        for section in sections.indices { tell(section: section) }
        hasBegun = false
    }

    mutating func next(in section: Section) {
        guard let section = sections.firstIndex(of: section) else { return }
        let first = visiblePlaces.first { $0.section == section }
        next(in: section, below: first?.index ?? 0)
    }

    /// - Parameter first: The first visible item.
    mutating func next(in section: Int, below first: Int) {
        ask(layout.update(section) { $0.next(below: first) }, for: section)
    }

    mutating func retry(section: Section) {
        guard let section = sections.firstIndex(of: section) else { return }
        act(.drop(layout.pages[section]))
        ask(layout.update(section) { $0.retry() }, for: section)
    }

    /// - Returns: False if the feed no longer waits for the request.
    mutating func keep(_ task: Task<Void, Never>, ofRequest number: Int) -> Bool {
        guard let section = requests.first(where: { $0.value.number == number })?.key else { return false }
        requests[section]?.task = task
        return true
    }

    mutating func answered(_ answer: Result<FeedPage<Item>, any Error>, toRequest number: Int) {
        guard let section = requests.first(where: { $0.value.number == number })?.key else {
            return act(.drop(answer))
        }
        requests[section] = nil
        switch answer {
        case .failure(let error):
            layout.update(section) { $0.failed(error) }
            tell(section: section)
        case .success(let page): take(page, section)
        }
        settle()
    }

    private mutating func take(_ page: FeedPage<Item>, _ section: Int) {
        let hasNews = layout.hasNews(page, in: section)
        let reach = visiblePlaces.last { $0.section == section }?.index
        let start = layout.pages[section].start
        let isAddition = start == layout.pages[section].list.items.count
        if !isAddition { act(.drop(layout.pages[section].list)) }
        let mostPages = limits.refreshPages
        let (question, former) = layout.change(section, isAddition: isAddition) {
            $0.answered(page, reach: reach.map { $0 + 1 } ?? 0, mostPages: mostPages, hasNews: hasNews)
        }
        act(.drop(former))
        tell(former.map(\.id), section: section)
        archive(section, from: start)
        ask(question, for: section)
    }

    /// Archives the first pages if they have changed.
    ///
    /// - Parameter start: The number of unchanged items at the beginning.
    private mutating func archive(_ section: Int, from start: Int) {
        guard let archiveLimit, start <= archiveLimit, !layout.pages[section].isRefreshing else { return }
        guard let head = layout.pages[section].list.head(limit: archiveLimit) else { return }
        act(.archive(head, sections[section], filter))
    }

    /// Takes the archived page, unless the source has already responded.
    mutating func recalled(_ page: FeedPage<Item>, of section: Section, era: Int) {
        guard era == self.era, let section = sections.firstIndex(of: section) else { return act(.drop(page)) }
        guard layout.change(section, isAddition: false, { $0.recalled(page) }) else { return act(.drop(page)) }
        tell(section: section)
        settle()
    }

    mutating func stop(_ section: Int) {
        if let task = requests.removeValue(forKey: section)?.task { act(.stop(task)) }
    }

    mutating func ask(_ question: FeedPages<Item>.Question?, for section: Int) {
        guard let question else { return }
        let number = makeNumber()
        requests[section] = Request(number: number)
        let request = FeedRequest(section: sections[section], filter: filter, cursor: question.cursor)
        act(.ask(request, number: number))
        tell(section: section)
    }
}
