// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import NIOCore
import OptimistCore
import OptimistLoading

/// A phone's loaded values and their costs, and the pictures that the server holds back.
struct LoadingRoutes {
    let park: DevicePark
    let content: LabContent

    private struct Hold: Decodable {
        var next: Int?
        var id: String?
    }

    func add(to router: Router<some RequestContext>) {
        let device = router.group("lab/devices/:device")
        device.get("loading") { request, context in
            try await park.answer(request, context) { _, phone in LoadingAnswer(phone) }
        }
        device.delete("loading") { _, context in
            let device = try await park.device(try context.parameters.require("device"))
            try await device.forgetLoaded()
            return EmptyAnswer()
        }
        device.get("picture") { request, context in
            let device = try await park.device(try context.parameters.require("device"))
            let path = try request.uri.queryParameters.require("of")
            // The picture may have left the screen already.
            guard let picture = try? await device.phone().shown.picture(path) else {
                return Response(status: .noContent)
            }
            return Response(
                status: .ok,
                headers: [
                    .contentType: picture.type, .cacheControl: "no-store",
                    // Prevents a malicious picture file from running scripts or loading anything.
                    .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; sandbox",
                ], body: .init(byteBuffer: ByteBuffer(bytes: picture.bytes)))
        }
        addServer(to: router)
    }

    private func addServer(to router: Router<some RequestContext>) {
        router.put("lab/server/pictures") { request, context in
            let hold = try await request.decode(as: Hold.self, context: context)
            guard hold.id != nil || hold.next != nil, (0...1000).contains(hold.next ?? 0) else {
                throw OptimistError(
                    .badLabRequest, "\"next\" must be a number from 0 to 1000, or \"id\" the name of a picture.")
            }
            if let next = hold.next { content.held.hold(next: next) }
            if let id = hold.id { content.held.hold(id) }
            return HeldAnswer(content.held)
        }
        router.get("lab/server/pictures") { _, _ in HeldAnswer(content.held) }
    }
}

private struct HeldAnswer: ResponseEncodable {
    var toHold: Int
    var held: Int

    init(_ pictures: HeldPictures) { (toHold, held) = pictures.counts }
}

/// The counters of a phone's loaders.
struct LoadingAnswer: ResponseEncodable {
    struct Loader: Encodable {
        var name: String
        var memoryHits: Int
        var diskHits: Int
        var joins: Int
        var fetches: Int
        var failures: Int
        var cancelled: Int
        var prefetchedBytes: Int
        var unseenBytes: Int
        /// The time that fetches waited for a slot, by priority.
        var waits: [String: Wait]
    }

    struct Wait: Encodable {
        var count: Int
        var meanMs: Double
        var longestMs: Double
    }

    var loaders: [Loader]
    /// The number of requested values, and of all requests for them.
    var things: Int
    var requests: Int

    init(_ phone: RunningPhone) {
        loaders = [
            Loader("pictures", phone.loaders.pictures.counts), Loader("places", phone.loaders.places.counts),
        ]
        (things, requests) = phone.wire.totals(["/poses/", "/authors/", "/places"])
    }
}

extension LoadingAnswer.Loader {
    init(_ name: String, _ counts: LoaderCounts) {
        self.init(
            name: name, memoryHits: counts.memoryHits, diskHits: counts.diskHits, joins: counts.joins,
            fetches: counts.fetches, failures: counts.failures, cancelled: counts.cancelled + counts.dropped,
            prefetchedBytes: counts.prefetchedBytes, unseenBytes: counts.unseenBytes,
            waits: Dictionary(
                uniqueKeysWithValues: counts.waits.map { priority, waits in
                    (
                        "\(priority)",
                        LoadingAnswer.Wait(
                            count: waits.count, meanMs: waits.total / .milliseconds(1) / Double(max(waits.count, 1)),
                            longestMs: waits.longest / .milliseconds(1))
                    )
                }))
    }
}
