// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import OptimistCore

    /// Random answers of a hostile or broken server.
    struct HostileAnswers {
        private var random: SplitMix64

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        // MARK: Heads of HTTP/1.1

        /// An answer in pieces, after which the connection ends.
        ///
        /// - Parameter isPlain: Whether its head is valid. Linux's `URLSession` traps on an invalid head.
        mutating func overHTTP1(isPlain: Bool) -> [HostileServer.Act] {
            if isPlain {
                let status = any(["200", "200", "204", "206", "304", "401", "503", "600", "999"])
                return pieces(Array("HTTP/1.1 \(status) Said\r\n\(plainLines())\r\n".utf8) + body()) + [.close]
            }
            var bytes: [UInt8] = []
            while isOneIn(6) { bytes += head(status: any(["100", "103", "102", "101", "199"])) }
            bytes += head(status: any(Self.statuses)) + body()
            if isOneIn(6) { bytes += head(status: any(Self.statuses)) + body() }
            if isOneIn(3) { damage(&bytes) }
            return pieces(bytes) + [.close]
        }

        private static let statuses = [
            "200", "200", "200", "204", "206", "304", "401", "503", "100", "101", "199", "000", "001", "020", "099",
            "600",
            "999", "1000", "99999", "-20", "2OO", "",
        ]

        private mutating func head(status: String) -> [UInt8] {
            let version = any([
                "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/11", "ICY",
            ])
            return Array("\(version) \(status)\(any([" Said", "", " ", " \u{0}", " naïve"]))\r\n\(lines())\r\n".utf8)
        }

        private mutating func lines() -> String {
            (0..<Int.random(in: 0...4, using: &random)).map { _ in
                let field = any(Self.fields)
                let end = any(["\r\n", "\r\n", "\n", "\r\n "])
                return "\(field.name)\(any([": ", ":", " : ", ""]))\(any(field.values))\(end)"
            }.joined()
        }

        private mutating func plainLines() -> String {
            (0..<Int.random(in: 0...4, using: &random)).map { _ in
                let field = any(Self.plainFields)
                return "\(field.name): \(any(field.values))\r\n"
            }.joined()
        }

        private static let plainFields: [(name: String, values: [String])] = [
            ("Content-Length", ["0", "5", "5", "-1", "99999999999999999999", "5, 5", "0x5", ""]),
            ("Transfer-Encoding", ["chunked", "gzip, chunked", "identity", "chunked, chunked"]),
            ("Content-Encoding", ["gzip", "deflate", "x-gzip", "br", "gzip, gzip", "GZIP"]),
            ("Connection", ["close", "keep-alive", "upgrade"]), ("Upgrade", ["h2c", "websocket"]),
            ("Location", ["http://127.0.0.1:99999/", "http+unix://%2Ftmp%2Fx/", ""]),
            ("X-Long", [String(repeating: "x", count: 5000)]), (String(repeating: "n", count: 300), ["x"]),
        ]

        private static let fields =
            plainFields + [
                ("", ["x"]), ("X\u{0}", ["\u{0}"]), ("Näme", ["wért"]),
                ("Set-Cookie", ["a=b; Max-Age=99999999999999999999"]),
                ("Date", ["Sun, 06 Nov 99999999999 08:49:37 GMT", "0"]), ("Trailer", ["Content-Length"]),
            ]

        private mutating func body() -> [UInt8] {
            switch Int.random(in: 0..<7, using: &random) {
            case 0: []
            case 1: Array("hello".utf8)
            case 2: Array("5\r\nhello\r\n0\r\n\r\n".utf8)
            case 3:
                Array(
                    "\(any(["ffffffffffffffff", "-1", "5;\"", "0\r\nA: b", "00000000000000000001"]))\r\nhello\r\n".utf8)
            case 4: Gzip.unpackedTwentyTimes
            case 5: Array(Gzip.unpackedTwentyTimes.dropLast(Int.random(in: 1...31, using: &random)))
            default: noise(upTo: 400)
            }
        }

        // MARK: Frames of HTTP/2

        /// Frames, after which the stream or the connection ends.
        mutating func overHTTP2(stream: UInt32) -> [HostileServer.Act] {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) { bytes += frame(stream) }
            if isOneIn(4) { damage(&bytes) }
            let end: [HostileServer.Act] = isOneIn(2) ? [.close] : [.bytes(Frame.reset(8, stream: stream)), .close]
            return pieces(bytes) + end
        }

        private mutating func frame(_ stream: UInt32) -> [UInt8] {
            let flags = any([0, 1, 4, 4, 5, 5, 5, 0x0D, 0x25, 0xFF] as [UInt8])
            let stream = isOneIn(8) ? any([0, 1, 2, stream + 2, UInt32.max]) : stream
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<5: return Frame.head(fields(), stream: stream, flags: flags)
            case 5, 6: return Frame.data(body(), stream: stream, flags: flags)
            case 7: return Frame.reset(UInt32.random(in: 0...14, using: &random), stream: stream)
            case 8: return Frame.goAway(lastStream: any([0, stream, UInt32.max >> 1]))
            case 9: return Frame.settings([any([1, 2, 3, 4, 5, 6, 99]): any([0, 1, 100, 16384, UInt32.max])])
            case 10:
                let increment = Frame.big(any([0, 1, UInt32.max >> 1, UInt32.max]))
                return Frame.bytes(kind: Frame.Kind.windowUpdate.rawValue, flags: 0, stream: stream, increment)
            default:
                return Frame.bytes(
                    kind: UInt8.random(in: 0...12, using: &random), flags: flags, stream: stream, noise(upTo: 40))
            }
        }

        private mutating func fields() -> [(name: String, value: String)] {
            let status = any([
                "200", "200", "204", "100", "101", "103", "000", "99", "20", "1000", "-1", "-200", "+200", "2 0", "",
            ])
            var fields = isOneIn(8) ? [] : [(name: ":status", value: status)]
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                fields.append(
                    any([
                        ("content-length", any(["0", "5", "-1", "99999999999999999999"])), (":status", "200"),
                        (":path", "/"), ("Upper", "x"), ("connection", "close"),
                        ("content-encoding", any(["gzip", "deflate"])),
                        ("transfer-encoding", "chunked"), ("", ""), ("x", "\u{0}\r\n"),
                    ]))
            }
            return fields
        }

        // MARK: Chance

        private mutating func any<Element>(_ elements: [Element]) -> Element {
            elements[Int.random(in: 0..<elements.count, using: &random)]
        }

        private mutating func isOneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

        private mutating func noise(upTo count: Int) -> [UInt8] {
            (0..<Int.random(in: 0...count, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }

        /// Changes, inserts or removes a few bytes.
        private mutating func damage(_ bytes: inout [UInt8]) {
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                default: bytes.remove(at: place)
                }
            }
        }

        private mutating func pieces(_ bytes: [UInt8]) -> [HostileServer.Act] {
            guard isOneIn(3), bytes.count > 1 else { return [.bytes(bytes)] }
            let cut = Int.random(in: 1..<bytes.count, using: &random)
            return [.bytes(Array(bytes[..<cut])), .bytes(Array(bytes[cut...]))]
        }
    }
#endif
