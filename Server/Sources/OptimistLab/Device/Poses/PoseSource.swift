// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession
import Synchronization

/// Requests pages of poses from the server.
final class PoseSource: Sendable {
    private let session: Session
    private let known = Mutex(PoseChoices())

    init(session: Session) { self.session = session }

    var choices: PoseChoices { known.withLock { $0 } }

    func page(of section: PoseSection, _ filter: PoseFilter, after cursor: String?) async throws -> PosePage {
        var query = ["section": section.rawValue]
        query["people"] = filter.people.map(String.init)
        query["frames"] = filter.frames.map(String.init)
        query["tag"] = filter.tag
        query["cursor"] = cursor
        var address = URLComponents()
        address.path = "/poses"
        address.queryItems = query.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
        // Many servers decode a plus sign as a space.
        address.percentEncodedQuery = address.percentEncodedQuery?.replacing("+", with: "%2B")
        let answer = try await session.send(SessionRequest(address.string ?? "/poses"))
        guard answer.status == .ok else {
            throw OptimistError(.badLabData, "The server answered \(answer.status.code) to a request for poses.")
        }
        let page = try answer.decode(PosePage.self)
        known.withLock { $0 = page.choices }
        return page
    }
}
