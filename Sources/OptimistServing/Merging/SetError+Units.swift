// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension SetError {
    static var unknownType: SetError {
        SetError("invalidArguments", "The schema does not have this type.")
    }

    private static let groupFailed = "groupFailed"

    static func groupFailed(_ culprits: [String]) -> SetError {
        SetError(groupFailed, "Another row of the group failed.", blockedBy: culprits)
    }

    var isOfGroup: Bool { type == Self.groupFailed }
}
