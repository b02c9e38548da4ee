// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import NIOCore
import OptimistCore

extension OptimistError {
    /// Says why a server cannot listen to an address. Nil: the error is about something else.
    init?(listeningTo host: String, _ port: Int, _ error: any Error) {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            self.init(
                .addressInUse,
                """
                The port \(port) on \(host) is taken by another program. Stop that, or choose another port with --port.
                """, cause: error)
        case let error as IOError where error.errnoCode == EACCES:
            self.init(
                .addressUnavailable,
                """
                This user may not listen to the port \(port) on \(host). Choose a port from 1024 on with --port, and let a \
                proxy stand before it.
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
        \(host) is no address of this machine. Name one with --host: 127.0.0.1 for this machine only, or 0.0.0.0 for all its \
        addresses.
        """
    }
}
