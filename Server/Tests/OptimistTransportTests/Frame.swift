// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    /// HTTP/2 frames as bytes, valid and invalid.
    ///
    /// > Source: RFC 9113, section 4.1 and section 6; RFC 7541, section 6.2.2.
    enum Frame {
        enum Kind: UInt8, CaseIterable {
            case data, headers, priority, rstStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
        }

        static let endStream: UInt8 = 1
        static let endHeaders: UInt8 = 4

        static let settingsAcknowledgement = bytes(kind: Kind.settings.rawValue, flags: 1, stream: 0, [])

        static func bytes(kind: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
            big(UInt32(payload.count)).dropFirst() + [kind, flags] + big(stream) + payload
        }

        static func settings(_ values: [UInt16: UInt32]) -> [UInt8] {
            let payload = values.sorted { $0.key < $1.key }.flatMap { big(UInt32($0.key)).dropFirst(2) + big($0.value) }
            return bytes(kind: Kind.settings.rawValue, flags: 0, stream: 0, payload)
        }

        static func head(
            _ fields: [(name: String, value: String)], stream: UInt32, flags: UInt8 = endHeaders
        ) -> [UInt8] {
            bytes(kind: Kind.headers.rawValue, flags: flags, stream: stream, fields.flatMap(literal))
        }

        static func data(_ body: [UInt8], stream: UInt32, flags: UInt8 = endStream) -> [UInt8] {
            bytes(kind: Kind.data.rawValue, flags: flags, stream: stream, body)
        }

        static func reset(_ code: UInt32, stream: UInt32) -> [UInt8] {
            bytes(kind: Kind.rstStream.rawValue, flags: 0, stream: stream, big(code))
        }

        static func goAway(lastStream: UInt32, _ code: UInt32 = 0) -> [UInt8] {
            bytes(kind: Kind.goAway.rawValue, flags: 0, stream: 0, big(lastStream) + big(code))
        }

        static func big(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }

        /// A literal field without indexing. Texts are cut to 126 bytes.
        private static func literal(_ field: (name: String, value: String)) -> [UInt8] {
            let (name, value) = (field.name.utf8.prefix(126), field.value.utf8.prefix(126))
            return [0, UInt8(name.count)] + name + [UInt8(value.count)] + value
        }
    }
#endif
