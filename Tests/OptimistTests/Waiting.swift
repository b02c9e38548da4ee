// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

extension AsyncSequence where Failure == Never {
    /// Waits for an element that satisfies a condition. A sequence that ends before that is an issue.
    func reach(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: (Element) async throws -> Bool
    ) async throws {
        for await element in self where try await condition(element) { return }
        Issue.record("the sequence ended before the element came", sourceLocation: sourceLocation)
    }
}
