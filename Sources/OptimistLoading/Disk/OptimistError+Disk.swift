// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore

extension OptimistError.Code {
    /// The disk or the user's quota is full. The cache continues in memory.
    public static let diskFull = Self("diskFull")
    /// The cache's folder cannot be written. The cache continues in memory.
    public static let cacheUnwritable = Self("cacheUnwritable")
}

extension OptimistError {
    /// - Parameter code: The system's error number.
    static func disk(_ code: CInt, retryAfter pause: Duration) -> OptimistError {
        if code == ENOSPC || code == EDQUOT {
            return OptimistError(
                .diskFull, "The device's storage is full. Loaded data is kept in memory only.", remedy: .freeSpace)
        }
        let reason = String(cString: strerror(code))
        return OptimistError(
            .cacheUnwritable, "The cache's folder cannot be written (\(reason)). Loaded data is kept in memory only.",
            remedy: .retry(after: pause), cause: POSIXErrorCode(rawValue: code).map { POSIXError($0) })
    }
}
