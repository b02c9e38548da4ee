// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession
import Synchronization

/// Asks the server for pages of poses.
final class PoseSource: Sendable {
    private let session: Session
    private let known = Mutex(PoseChoices())

    init(session: Session) { self.session = session }

    /// The filters that the last page offered.
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
        // A plus sign is a space to many servers.
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
