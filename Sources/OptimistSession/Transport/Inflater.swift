// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import CLibZ
    import HTTPTypes

    /// Unpacks a body piece by piece: gzip, in one member or several, or deflate, with zlib's frame or, as some servers
    /// send it, without.
    ///
    /// > Source: RFC 9110, section 8.4.1; RFC 1952, section 2.2 (members).
    final class Inflater {
        /// How a body is packed.
        enum Coding: Sendable {
            case gzip, deflate

            /// What a request says that it accepts.
            static let accepted = "gzip, deflate"

            /// Nil: the body comes as it is, or in a way that is not read here.
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
        /// A body that has grown by more than so much to more than 100 times its size is unpacked no further.
        private static let freeBytes = 1 << 20
        private static let mostTimes = 100

        private let coding: Coding
        /// zlib keeps the address of its stream, so it does not move.
        private let stream: UnsafeMutablePointer<z_stream>
        /// Whether a member has begun and not ended.
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

        /// Takes the next packed bytes. Call it when ``next()`` has returned nil.
        func take(_ bytes: [UInt8]) {
            packed = bytes
            used = 0
            packedBytes += bytes.count
        }

        /// Returns the next unpacked bytes, at most 64 KiB. Nil: it takes more packed ones.
        ///
        /// - Throws: ``TransportError`` of kind `broken` or `tooLarge`.
        func next() throws -> [UInt8]? {
            while isOpen || used < packed.count {
                if !isOpen {
                    // What follows the last member and begins no other is no part of the body.
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

        /// The packed bytes are over. An empty body is whole: it is what the answer to a HEAD has.
        ///
        /// - Throws: ``TransportError`` of kind `broken` if the last member is not whole.
        func finish() throws {
            if isOpen { throw TransportError(.broken, .responseStarted) }
        }

        private func open() throws {
            // No encoder begins deflate without a frame with a byte whose lower half is 8, as zlib's frame does.
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
            // Z_BUF_ERROR: it takes more.
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: close()
            default: throw TransportError(.broken, .responseStarted)
            }
            return piece
        }
    }

    /// A body that is unpacked while it is read.
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
