// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import CLibZ
    import HTTPTypes

    /// A streaming decompressor for gzip, with one or more members, and for deflate. It accepts deflate without the
    /// zlib header, because some servers send it.
    ///
    /// > Source: RFC 9110, section 8.4.1; RFC 1952, section 2.2 (members).
    final class Inflater {
        enum Coding: Sendable {
            case gzip, deflate

            /// The value for `Accept-Encoding`.
            static let accepted = "gzip, deflate"

            /// Returns nil if the body is not compressed, or is compressed in an unsupported way.
            init?(_ head: HTTPResponse) {
                let names = (head.headerFields[.contentEncoding] ?? "").lowercased()
                    .split { $0 == "," || $0 == " " || $0 == "\t" }.filter { $0 != "identity" }
                switch names {
                case ["gzip"], ["x-gzip"]: self = .gzip
                case ["deflate"]: self = .deflate
                default: return nil
                }
            }
        }

        private static let pieceBytes = 64 << 10
        /// A body that decompresses to more than this, and to more than 100 times its size, is rejected.
        private static let freeBytes = 1 << 20
        private static let mostTimes = 100

        private let coding: Coding
        /// Must not move, because zlib keeps its address.
        private let stream: UnsafeMutablePointer<z_stream>
        /// Whether a member has begun but not ended.
        private var isOpen = false
        private var members = 0
        private var packed: [UInt8] = []
        private var used = 0
        private var packedBytes = 0
        private var unpackedBytes = 0

        init(_ coding: Coding) {
            self.coding = coding
            stream = .allocate(capacity: 1)
            stream.initialize(to: z_stream())
        }

        deinit {
            close()
            stream.deallocate()
        }

        /// Adds compressed bytes. Call it after ``next()`` has returned nil.
        func take(_ bytes: [UInt8]) {
            packed = bytes
            used = 0
            packedBytes += bytes.count
        }

        /// Returns the next decompressed bytes, at most 64 KiB. Nil: more input is needed.
        ///
        /// - Throws: ``TransportError`` of kind `broken` or `tooLarge`.
        func next() throws -> [UInt8]? {
            while isOpen || used < packed.count {
                if !isOpen {
                    // Bytes after the last member are not part of the body, unless they start another member.
                    guard members == 0 || coding == .gzip && packed[used] == 0x1F else {
                        used = packed.count
                        return nil
                    }
                    try open()
                }
                let piece = try inflate()
                unpackedBytes += piece.count
                guard unpackedBytes <= max(Self.freeBytes, packedBytes * Self.mostTimes) else {
                    throw TransportError(.tooLarge, .responseStarted)
                }
                if !piece.isEmpty { return piece }
                if isOpen, used == packed.count { return nil }
            }
            return nil
        }

        /// Ends the input. An empty body is valid, as in the answer to a HEAD request.
        ///
        /// - Throws: ``TransportError`` of kind `broken` if the last member is incomplete.
        func finish() throws {
            if isOpen { throw TransportError(.broken, .responseStarted) }
        }

        private func open() throws {
            // A zlib header starts with a byte whose lower half is 8, which no encoder writes first in raw deflate.
            let bits: CInt =
                switch coding {
                case .gzip: 15 + 16
                case .deflate: packed[used] & 0x0F == 8 ? 15 : -15
                }
            let result = inflateInit2_(stream, bits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
            guard result == Z_OK else { throw TransportError(.broken, .responseStarted) }
            isOpen = true
            members += 1
        }

        private func close() {
            if isOpen { inflateEnd(stream) }
            isOpen = false
        }

        private func inflate() throws -> [UInt8] {
            var result = Z_OK
            let piece = packed.withUnsafeMutableBufferPointer { input in
                [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { output, count in
                    stream.pointee.next_in = input.baseAddress.map { $0 + used }
                    stream.pointee.avail_in = CUnsignedInt(input.count - used)
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = CUnsignedInt(output.count)
                    result = CLibZ.inflate(stream, Z_NO_FLUSH)
                    used = input.count - Int(stream.pointee.avail_in)
                    count = output.count - Int(stream.pointee.avail_out)
                }
            }
            switch result {
            // Z_BUF_ERROR: more input is needed.
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: close()
            default: throw TransportError(.broken, .responseStarted)
            }
            return piece
        }
    }

    /// A body that is decompressed as it is read.
    struct Unpacked: AsyncSequence, Sendable {
        let base: ResponseBody
        let coding: Inflater.Coding

        func makeAsyncIterator() -> Iterator {
            Iterator(base: base.makeAsyncIterator(), inflater: Inflater(coding))
        }

        struct Iterator: AsyncIteratorProtocol {
            var base: ResponseBody.AsyncIterator
            let inflater: Inflater

            mutating func next() async throws -> [UInt8]? {
                while true {
                    if let piece = try inflater.next() { return piece }
                    guard let packed = try await base.next() else {
                        try inflater.finish()
                        return nil
                    }
                    inflater.take(packed)
                }
            }
        }
    }
#endif
