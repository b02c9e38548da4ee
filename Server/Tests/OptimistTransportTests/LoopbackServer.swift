// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import Foundation
    import Glibc

    /// A minimal HTTP server on loopback, to test a transport on real connections.
    final class LoopbackServer: Sendable {
        /// Receives the complete text of each request.
        typealias Handler = @Sendable (_ request: String, _ connection: Connection) -> Void

        struct Connection: Sendable {
            fileprivate let socket: CInt

            /// Waits until the other side has room for all bytes. Returns false if the connection has ended.
            @discardableResult
            func send(_ bytes: some Sequence<UInt8>) -> Bool {
                var rest = Array(bytes)[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes {
                        Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                    }
                    if count <= 0 { return false }
                    rest = rest.dropFirst(count)
                }
                return true
            }

            func close() { _ = shutdown(socket, CInt(SHUT_RDWR)) }
        }

        let port: Int
        private let listener: CInt

        /// - Parameter onParting: Called when a connection has ended.
        init(_ handler: @escaping Handler, onParting: @escaping @Sendable () -> Void = {}) throws {
            let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(listener, address, length) == 0 && listen(listener, 64) == 0
                        && getsockname(listener, address, &length) == 0
                }
            }
            guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
            self.listener = listener
            port = Int(UInt16(bigEndian: address.sin_port))
            Thread.detachNewThread {
                while case let socket = accept(listener, nil, nil), socket >= 0 {
                    Thread.detachNewThread {
                        Self.serve(socket, handler)
                        onParting()
                    }
                }
                _ = Glibc.close(listener)
            }
        }

        /// Refuses connections from now on. The accepting thread closes the descriptor: if it were closed here, its
        /// number could belong to another server before that thread uses it.
        func close() { _ = shutdown(listener, CInt(SHUT_RDWR)) }

        private static func serve(_ socket: CInt, _ handler: Handler) {
            defer { _ = Glibc.close(socket) }
            var request: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65536)
            while case let count = recv(socket, &buffer, buffer.count, 0), count > 0 {
                request += buffer[..<count]
                let text = String(decoding: request, as: UTF8.self)
                guard isWhole(text) else { continue }
                request = []
                handler(text, Connection(socket: socket))
            }
        }

        private static func isWhole(_ request: String) -> Bool {
            guard let end = request.range(of: "\r\n\r\n") else { return false }
            let field = request[..<end.lowerBound].lowercased().split(separator: "\r\n")
                .first { $0.hasPrefix("content-length:") }
            let length = field?.split(separator: " ").last.flatMap { Int($0) } ?? 0
            return request[end.upperBound...].utf8.count >= length
        }
    }
#endif
