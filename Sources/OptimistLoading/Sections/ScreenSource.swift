// This source file is part of the Optimist open source project, under the MIT licence.

/// A source of one or more sections of a screen. Each response fills all of them.
public struct ScreenSource<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// Writes the response into an empty screen.
    typealias Response = @Sendable (inout Screen) -> Void

    let sections: [ScreenSection<ID, Screen>]
    let run: @Sendable (_ respond: @escaping @Sendable (@escaping Response) -> Void) async throws -> Void

    /// Creates a source that responds once per request.
    ///
    /// - Parameters:
    ///   - sections: The sections that it fills. Other changes to the screen are ignored.
    ///   - load: Loads a response, in a new task.
    ///   - fill: Writes a response into an empty screen. A section that it does not fill stays empty.
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

    /// Creates a source with several responses, such as a live query.
    ///
    /// - Parameters:
    ///   - sections: The sections that it fills. Other changes to the screen are ignored.
    ///   - follow: Creates a new sequence for each call. When the sequence ends, its last response stays. If the
    ///     sequence throws, the source's sections report the error, and keep their values until they are requested
    ///     again.
    ///   - fill: Writes a response into an empty screen.
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
