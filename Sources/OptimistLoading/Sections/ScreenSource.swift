// This source file is part of the Optimist open source project, under the MIT licence.

/// Where some sections of a screen come from. One response fills all of them (H1).
public struct ScreenSource<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// Fills a screen that is empty otherwise.
    typealias Response = @Sendable (inout Screen) -> Void

    let sections: [ScreenSection<ID, Screen>]
    let run: @Sendable (_ respond: @escaping @Sendable (@escaping Response) -> Void) async throws -> Void

    /// A source that answers once, each time it is asked.
    ///
    /// - Parameters:
    ///   - sections: What it fills. What it writes elsewhere on the screen is not taken.
    ///   - load: Gets a response, in a task of its own.
    ///   - fill: Writes a response into a screen on which all sections are empty: it says all that there is.
    public init<Answer: Sendable>(
        _ sections: [ScreenSection<ID, Screen>], load: @escaping @Sendable () async throws -> Answer,
        fill: @escaping @Sendable (Answer, inout Screen) -> Void
    ) {
        self.sections = sections
        run = { respond in
            let answer = try await load()
            respond { fill(answer, &$0) }
        }
    }

    /// A source that goes on answering, such as a live query.
    ///
    /// - Parameters:
    ///   - sections: What it fills. What it writes elsewhere on the screen is not taken.
    ///   - follow: Makes the sequence, a new one for each call. Where it ends, the last response stays. If it throws, the
    ///     sections say so, and stay as they are until they are asked for again.
    ///   - fill: Writes a response into a screen on which all sections are empty.
    public init<Answers: AsyncSequence & SendableMetatype>(
        _ sections: [ScreenSection<ID, Screen>], following follow: @escaping @Sendable () -> Answers,
        fill: @escaping @Sendable (Answers.Element, inout Screen) -> Void
    ) where Answers.Element: Sendable, Answers.AsyncIterator: SendableMetatype {
        self.sections = sections
        run = { respond in
            for try await answer in follow() { respond { fill(answer, &$0) } }
        }
    }
}
