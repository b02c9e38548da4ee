// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire

/// Requests about a device's refused changes.
extension Store {
    /// - Parameter body: A request's `{"edits"?}`, the columns to change before the retry.
    /// - Throws: As ``retry(_:with:)``, and `OptimistError` with code `badLabRequest` if the row's parent is missing.
    func retry(rejectionNumbered number: Int64, _ body: Data) async throws {
        let json = try JSON(parsing: [UInt8](body))
        guard json["edits"] == nil || json["edits"]?.object != nil else {
            throw OptimistError(.badLabRequest, "\"edits\" must be an object of columns.")
        }
        do {
            try await retry(try await rejection(numbered: number), with: json["edits"]?.object ?? [:])
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY {
            throw OptimistError(
                .badLabRequest, "The row that it belongs to is not on this device. The change is kept here.")
        }
    }

    func discard(rejectionNumbered number: Int64) async throws {
        try await discard(try await rejection(numbered: number))
    }

    private func rejection(numbered number: Int64) async throws -> Rejection {
        guard let rejection = try await rejections().first(where: { $0.id == number }) else {
            throw OptimistError(
                .unknownRejection, "The rejection \(number) does not exist: it was already retried or discarded.")
        }
        return rejection
    }
}
