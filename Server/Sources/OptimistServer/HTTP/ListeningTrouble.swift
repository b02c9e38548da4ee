// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import NIOCore
import OptimistCore

extension OptimistError {
    /// Nil if the error has another cause.
    init?(listeningTo host: String, _ port: Int, _ error: any Error) {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            self.init(
                .addressInUse,
                """
                Another program uses port \(port) on \(host). Stop that program, or choose another port with --port.
                """, cause: error)
        case let error as IOError where error.errnoCode == EACCES:
            self.init(
                .addressUnavailable,
                """
                This user may not listen on port \(port) of \(host). Choose a port from 1024 up with --port, and put a \
                proxy in front of the server.
                """, cause: error)
        case let error as IOError where [EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL].contains(error.errnoCode):
            self.init(.addressUnavailable, Self.isElsewhere(host), cause: error)
        case is SocketAddressError, is SocketAddressError.UnknownHost:
            self.init(.addressUnavailable, Self.isElsewhere(host), cause: error)
        default: return nil
        }
    }

    private static func isElsewhere(_ host: String) -> String {
        """
        \(host) is not an address of this machine. Choose one with --host: 127.0.0.1 for this machine only, or 0.0.0.0 \
        for all its addresses.
        """
    }
}
