// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore

/// One direction of one connection: takes data that was read on one side, asks its ``Link`` for the time of arrival,
/// and writes the data on the other side. Confined to the event loop of its connection.
final class Flow {
    /// The number of bytes that may wait here. The proxy stops reading from a sender that is faster than the link, so
    /// the sender's writes block, as on a real network. One more read may exceed the limit.
    static let windowBytes = 1 << 20

    private enum Item {
        case bytes(ByteBuffer, due: NIODeadline)
        case end(due: NIODeadline)
        case cut

        var due: NIODeadline {
            switch self {
            case .bytes(_, let due), .end(let due): due
            case .cut: .uptimeNanoseconds(0)
            }
        }
    }

    /// Nil until connected to the server.
    var target: (any Channel)? { didSet { advance() } }
    var roomAppeared: () -> Void = {}
    /// Called after bytes were written to the other side's socket.
    var delivered: (Int) -> Void = { _ in }
    var cutOff: () -> Void = {}
    private var hasTakenEnd = false
    private(set) var hasDeliveredEnd = false

    private let loop: NIOIsolatedEventLoop
    private let conditions: () -> NetworkConditions
    private var link: Link
    private var waiting = CircularBuffer<Item>()
    private var waitingBytes = 0
    private var timer: Scheduled<Void>?

    init(link: Link, loop: NIOIsolatedEventLoop, conditions: @escaping () -> NetworkConditions) {
        self.link = link
        self.loop = loop
        self.conditions = conditions
    }

    var hasRoom: Bool { waitingBytes < Flow.windowBytes && !conditions().isStalled }

    /// Takes the data of one read. Returns false if the connection is lost.
    func take(_ chunk: ByteBuffer) -> Bool {
        guard !hasTakenEnd else { return true }
        switch link.carry(byteCount: chunk.readableBytes, now: now, under: conditions()) {
        case .lose: return false
        case .deliver(let pieces): enqueue(chunk, as: pieces)
        case .deliverAndClose(let pieces):
            hasTakenEnd = true
            enqueue(chunk, as: pieces)
            waiting.append(.cut)
        }
        advance()
        return true
    }

    /// Takes the sender's end of stream.
    func takeEnd() {
        guard !hasTakenEnd else { return }
        hasTakenEnd = true
        waiting.append(.end(due: link.end(now: now, under: conditions())))
        advance()
    }

    /// Writes the chunks that are due, as fast as the receiver accepts them, and sets the timer for the next one.
    func advance() {
        guard let target, !conditions().isStalled else { return }
        while let next = waiting.first, target.isWritable {
            guard next.due <= now else { return schedule(next.due) }
            waiting.removeFirst()
            deliver(next, to: target)
        }
        if hasRoom { roomAppeared() }
    }

    func stop() {
        timer?.cancel()
        target = nil
        waiting.removeAll()
        waitingBytes = 0
        (roomAppeared, delivered, cutOff) = ({}, { _ in }, {})
    }

    private var now: NIODeadline { loop.nonisolated().now }

    private func enqueue(_ chunk: ByteBuffer, as pieces: [Link.Piece]) {
        var rest = chunk
        for piece in pieces {
            guard let bytes = rest.readSlice(length: piece.byteCount) else { return }
            waiting.append(.bytes(bytes, due: piece.due))
            waitingBytes += piece.byteCount
        }
    }

    private func deliver(_ item: Item, to target: any Channel) {
        switch item {
        case .bytes(let bytes, _):
            waitingBytes -= bytes.readableBytes
            target.writeAndFlush(bytes, promise: nil)
            delivered(bytes.readableBytes)
        case .end:
            afterEarlierWrites(to: target) { [self] in
                hasDeliveredEnd = true
                target.close(mode: .output, promise: nil)
            }
        case .cut:
            afterEarlierWrites(to: target) { [self] in cutOff() }
        }
    }

    /// Waits for earlier writes, because closing drops data that the socket has not accepted yet. If they fail, the
    /// channel closes by itself, which the connection handles as a break.
    private func afterEarlierWrites(to target: any Channel, do action: @escaping () -> Void) {
        target.writeAndFlush(ByteBuffer()).assumeIsolated().whenSuccess { _ in action() }
    }

    private func schedule(_ due: NIODeadline) {
        timer?.cancel()
        timer = loop.scheduleTask(deadline: due) { [self] in advance() }
        if hasRoom { roomAppeared() }
    }
}
