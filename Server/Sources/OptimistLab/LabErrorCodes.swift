// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension OptimistError.Code {
    static let badLabData = Self("badLabData")
    static let notInLab = Self("notInLab")
    static let deviceIsDown = Self("deviceIsDown")
    /// An invalid request.
    static let badLabRequest = Self("badLabRequest")
    /// A write in the old way failed.
    static let oldWayFailed = Self("oldWayFailed")
}
