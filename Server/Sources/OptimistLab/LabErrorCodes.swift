// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension OptimistError.Code {
    /// The lab's own files cannot be read.
    static let badLabData = Self("badLabData")
    /// The device, to-do or account does not exist in the lab.
    static let notInLab = Self("notInLab")
    /// The device has crashed and was not restarted.
    static let deviceIsDown = Self("deviceIsDown")
    /// A request to the lab is invalid.
    static let badLabRequest = Self("badLabRequest")
    /// A write in the old way failed, because the server refused it or did not answer.
    static let oldWayFailed = Self("oldWayFailed")
}
