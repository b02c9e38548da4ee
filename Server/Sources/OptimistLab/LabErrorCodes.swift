// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension OptimistError.Code {
    /// The lab's own files cannot be read.
    static let badLabData = Self("badLabData")
    /// There is no such device, to-do or account in the lab.
    static let notInLab = Self("notInLab")
    /// The device has crashed and was not restarted.
    static let deviceIsDown = Self("deviceIsDown")
    /// A request to the lab cannot be understood.
    static let badLabRequest = Self("badLabRequest")
    /// The old way came to nothing: the server did not answer.
    static let oldWayFailed = Self("oldWayFailed")
}
