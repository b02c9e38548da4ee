// This source file is part of the Optimist open source project, under the MIT licence.

extension FeedMachine {
    /// Asks for the first pages, again if there are some.
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

    /// Shows the items that pass another filter. Late answers for the former filter change nothing (F7).
    mutating func setFilter(_ new: Filter) {
        guard new != filter else { return }
        filter = new
        let hadBegun = hasBegun
        removeAll()
        if hadBegun { refresh() }
    }

    /// Forgets all items. Late answers change nothing.
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

    /// Asks for the next page of a section, if there is one and nothing else is under way.
    mutating func next(in section: Section) {
        guard let section = sections.firstIndex(of: section) else { return }
        let first = visiblePlaces.first { $0.section == section }
        next(in: section, below: first?.index ?? 0)
    }

    /// - Parameter first: The item at which the screen begins.
    mutating func next(in section: Int, below first: Int) {
        ask(layout.update(section) { $0.next(below: first) }, for: section)
    }

    /// Asks again for the page that has failed.
    mutating func retry(section: Section) {
        guard let section = sections.firstIndex(of: section) else { return }
        act(.drop(layout.pages[section]))
        ask(layout.update(section) { $0.retry() }, for: section)
    }

    /// - Returns: False if the feed no longer waits for it.
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

    /// Keeps the first pages for the next launch, unless they are those that are kept already.
    ///
    /// - Parameter start: Behind how many items they are others than before.
    private mutating func archive(_ section: Int, from start: Int) {
        guard let archiveLimit, start <= archiveLimit, !layout.pages[section].isRefreshing else { return }
        guard let head = layout.pages[section].list.head(limit: archiveLimit) else { return }
        act(.archive(head, sections[section], filter))
    }

    /// The archive has answered. The source's answer is newer, if it is here.
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
