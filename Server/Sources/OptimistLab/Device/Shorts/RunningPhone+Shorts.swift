// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession

extension RunningPhone {
    /// The first call loads the list.
    func shorts(inOldWay isOldWay: Bool) async -> any ShortsShowing {
        let screen: any ShortsShowing = isOldWay ? shown.oldShorts : shown.shorts
        if screen.board.beginsOpening() {
            do {
                await screen.open(try await session.send(SessionRequest("/shorts")).decode())
            } catch {
                screen.board.fail("The list of videos did not load. Check the phone's network.")
            }
        }
        return screen
    }
}
