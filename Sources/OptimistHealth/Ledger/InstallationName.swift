// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

/// The name by which the server knows an installation.
enum InstallationName {
    /// Returns the first 16 bytes of the SHA-256 hash of the salt and the id, in base64url. The hash does not reveal
    /// the id, and differs between apps on one device.
    static func of(_ installation: UUID, salt: String) -> String {
        let id = withUnsafeBytes(of: installation.uuid) { Data($0) }
        return Base64URL.encode(SHA256Hash.of(Array(Data(salt.utf8) + id)).prefix(16))
    }
}
