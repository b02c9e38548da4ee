// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Synchronization
import Testing

@testable import OptimistLab

/// The content of the lab's server.
@Suite(.timeLimit(.minutes(20)))
struct ContentTests {
    let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-content-\(UUID().uuidString)")

    @Test func `successive pages contain every pose exactly once`() {
        let poses = DrawnPoses()
        var (ids, cursor) = ([String](), nil as String?)
        repeat {
            let page = poses.page(of: .chosen, PoseFilter(), after: cursor)
            #expect(page.items.count == 8)
            ids += page.items.map(\.id)
            cursor = page.next
        } while cursor != nil
        #expect(ids == (1...24).map { "c\($0)" })
    }

    @Test func `a filter returns all the poses that match and no others`() {
        let poses = DrawnPoses()
        let filter = PoseFilter(people: 2, frames: 4, tag: "jump")
        let fitting = poses.poses(in: .chosen).filter { $0.people == 2 && $0.frames == 4 && $0.tags.contains("jump") }
        #expect(poses.page(of: .chosen, filter, after: nil, count: 100).items == fitting)
        let page = poses.page(of: .recommended, filter, after: nil)
        #expect(page.items.count == 8 && page.items.allSatisfy(filter.lets) && page.next == page.items.last?.id)
    }

    @Test func `a published pose comes first, and an earlier cursor continues at its place`() {
        let poses = DrawnPoses()
        let first = poses.page(of: .recommended, PoseFilter(), after: nil)
        let new = poses.publish()
        #expect(poses.page(of: .recommended, PoseFilter(), after: nil).items == [new] + first.items.dropLast())
        let next = poses.page(of: .recommended, PoseFilter(), after: first.next)
        #expect(next.items.first?.id == "r9")
        #expect(poses.page(of: .recommended, PoseFilter(), after: "gone").items.first == new)
    }

    @Test(arguments: ["c1", "r77", "n3"])
    func `a pose is drawn the same each time`(id: String) throws {
        let picture = try #require(DrawnPoses().picture(of: id, width: nil))
        #expect(picture == DrawnPoses().picture(of: id, width: 480))
        #expect(try Picture(decoding: picture.bytes) == picture)
    }

    @Test(arguments: ["", "c", "x1", "c0", "c-1", "c99999999999999999999", "../etc"])
    func `an unknown id has no picture`(id: String) {
        #expect(DrawnPoses().picture(of: id, width: nil) == nil)
        #expect(Short.portrait(of: id) == nil)
    }

    @Test func `sizes are read from the files' heads, and width and height of rotated photos are swapped`() throws {
        let png = Array("\u{89}PNG".unicodeScalars.map { UInt8($0.value) }) + [13, 10, 26, 10, 0, 0, 0, 13]
        #expect(ImageSize(head: png + Array("IHDR".utf8) + [0, 0, 2, 128, 0, 0, 1, 224])?.size == [640, 480])
        #expect(ImageSize(head: Array("GIF89a".utf8) + [0x40, 1, 0xF0, 0])?.size == [320, 240])
        let webP = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0]
        #expect(ImageSize(head: webP + [0x3F, 1, 0, 0xEF, 0, 0])?.size == [320, 240])
        let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 240, 1, 64, 1, 1, 0x11, 0]
        #expect(ImageSize(head: [0xFF, 0xD8] + frame)?.size == [320, 240])
        let turned: [UInt8] =
            Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]
        let exif = [0xFF, 0xE1, 0, UInt8(turned.count + 2)] + turned
        #expect(ImageSize(head: [0xFF, 0xD8] + exif + frame)?.size == [240, 320])
    }

    @Test func `a truncated or damaged head gives no size and does no harm`() {
        let turned: [UInt8] = Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0xFF, 0xFF, 1, 0x12, 0, 3, 0, 0, 0, 1]
        let whole: [UInt8] = [0xFF, 0xD8, 0xFF, 0xFF, 0xE1, 0, UInt8(turned.count + 2)] + turned + [0xFF, 0xC0, 0, 11]
        for count in whole.indices { #expect(ImageSize(head: Array(whole[..<count])) == nil) }
        var random = SplitMix64(seed: 1)
        for _ in 0..<2_000 {
            var bytes = whole + [8, 0, 240, 1, 64]
            bytes[Int.random(in: 2..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            if let size = ImageSize(head: bytes) { #expect(size.width > 0 && size.height > 0) }
        }
    }

    @Test func `photos are tagged by folder name, and files outside the folder are never shown`()
        async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let photos = folder.appending(path: "photos")
        try FileManager.default.createDirectory(
            at: photos.appending(path: "summer"), withIntermediateDirectories: true)
        let gif = Data(Array("GIF89a".utf8) + [0x40, 1, 0xF0, 0])
        for name in ["b.gif", "summer/a.gif", "../outside.gif"] { try gif.write(to: photos.appending(path: name)) }
        try Data("text".utf8).write(to: photos.appending(path: "c.jpg"))
        try FileManager.default.createSymbolicLink(
            at: photos.appending(path: "link.gif"), withDestinationURL: folder.appending(path: "outside.gif"))
        let catalogue = try PhotoFolder(photos, cache: folder.appending(path: "cache"))
        let poses = Array(catalogue.poses(in: .chosen))
        #expect(poses.map(\.tags) == [[], ["summer"]] && poses.allSatisfy { $0.width == 320 && $0.height == 240 })
        #expect(catalogue.choices == PoseChoices(tags: ["summer"]))
        let id = try #require(poses.first?.id)
        #expect(try await catalogue.picture(of: id, width: nil) == Picture(type: "image/gif", bytes: Array(gif)))
        #expect(try await catalogue.picture(of: "Li4vb3V0c2lkZS5naWY", width: nil) == nil)
    }

    private static let hasVips = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/vipsthumbnail")
    }

    /// Concurrent requests share the result, and a file that is not a picture is returned as it is.
    @Test(.enabled(if: hasVips, "needs vipsthumbnail, of libvips"))
    func `a photo is scaled to the requested size`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let photos = folder.appending(path: "photos")
        try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
        // A grey picture of 64 by 48 pixels.
        let png = try #require(
            Data(
                base64Encoded:
                    "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAwCAAAAACEICPDAAAAJ0lEQVR42u3MQREAAAwCIOPYP6Eh9ttBANKjCAQCgU"
                    + "AgEAgEgq/BALeT4BBXSrjgAAAAAElFTkSuQmCC"))
        try png.write(to: photos.appending(path: "a.png"))
        let gif = Data(Array("GIF89a".utf8) + [0x40, 1, 0xF0, 0])
        try gif.write(to: photos.appending(path: "b.gif"))
        let catalogue = try PhotoFolder(photos, cache: folder.appending(path: "cache"))
        let poses = Array(catalogue.poses(in: .chosen))
        async let first = catalogue.picture(of: poses[0].id, width: 16)
        async let second = catalogue.picture(of: poses[0].id, width: 16)
        let small = try #require(try await first)
        #expect(small.type == "image/jpeg" && small.bytes.starts(with: [0xFF, 0xD8]))
        #expect(ImageSize(head: small.bytes)?.width == 16)
        #expect(try await second == small)
        #expect(
            try await catalogue.picture(of: poses[1].id, width: 16) == Picture(type: "image/gif", bytes: Array(gif)))
    }

    @Test func `a folder without photos and a missing folder are errors with a message`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(throws: OptimistError.self) { try PhotoFolder(folder, cache: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let error = #expect(throws: OptimistError.self) { try PhotoFolder(folder, cache: folder) }
        #expect(error?.message.contains("--photos") == true)
    }

    @Test func `a held picture waits until it is released, and only the requested number is held`() async {
        let held = HeldPictures()
        held.hold("c3")
        #expect(held.counts == (toCome: 1, held: 0))
        await held.pass("c1")
        let waiting = (0..<2).map { _ in Task { await held.pass("c3") } }
        while held.counts.held < 2 { await Task.yield() }
        #expect(held.counts == (toCome: 0, held: 2))
        held.hold(next: 0)
        for one in waiting { await one.value }
        held.hold(next: 1)
        let next = Task { await held.pass("c1") }
        while held.counts.held == 0 { await Task.yield() }
        await held.pass("c1")
        held.hold(next: 0)
        await next.value
        held.hold(next: 5)
        held.end()
        await held.pass("c1")
        #expect(held.counts.held == 0)
    }

    @Test func `a clock is set in the chapel's time zone and keeps running`() {
        let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000.25))
        let clock = PhoneClock { time.withLock(\.self) }
        clock.set(to: clock.today(at: "09:59:55", in: "Asia/Tokyo"))
        #expect(clock.text(in: "Asia/Tokyo") == "09:59:55")
        time.withLock { $0 += 5 }
        #expect(clock.text(in: "Asia/Tokyo") == "10:00:00")
        for text in ["", "9", "25:00:00", "09:59", "a:b:c"] { #expect(clock.today(at: text, in: "Asia/Tokyo") == nil) }
        clock.set(to: nil)
        #expect(clock.now == time.withLock(\.self))
    }
}

extension ImageSize {
    fileprivate var size: [Int] { [width, height] }
}
