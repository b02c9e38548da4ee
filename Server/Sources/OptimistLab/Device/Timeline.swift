// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// An event on one device, for the page and for programs that drive the lab.
struct TimelineEvent: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        case write, shown, sent, accepted, merged, rejected, received, seen, network, crash, killed, restart, session
        /// A short video comes onto the screen, and what becomes of what it needs.
        case short, atOnce, joined, asked, loaded, failed
        /// A page of poses is asked for; its places are there, its first picture, and all of them.
        case page, places, firstPicture, allPictures
        /// The first screen is asked for, and drawn.
        case home, redraw
    }

    var at: Date
    /// Milliseconds since the lab started.
    var ms: Double
    var kind: Kind
    var device: String
    /// The row's id.
    var row: String?
    var text: String?
}

/// What one device tells its followers.
enum DeviceNews: Sendable {
    case timeline(TimelineEvent)
    /// The topics that may have changed.
    case changed(device: String, Set<Topic>)

    enum Topic: String, Codable, CaseIterable, Comparable, Sendable {
        case todos, outbox, rejections, status, device, session, home, feed, shorts, loading

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    var device: String {
        switch self {
        case .timeline(let event): event.device
        case .changed(let device, _): device
        }
    }
}

/// What a device has to tell, and whom.
struct NewsDesk: Sendable {
    let device: String
    let started: ContinuousClock.Instant
    let room: Newsroom

    func tell(_ kind: TimelineEvent.Kind, _ text: String? = nil, row: UUID) {
        tell(kind, text, row: row.uuidString.lowercased())
    }

    /// - Parameter row: What it belongs to, as the id of a to-do. Nil: it stands by itself.
    func tell(_ kind: TimelineEvent.Kind, _ text: String? = nil, row: String? = nil) {
        let elapsed = started.duration(to: .now)
        room.send(
            .timeline(
                TimelineEvent(
                    at: Date(), ms: elapsed / .milliseconds(1), kind: kind, device: device,
                    row: row, text: text)))
    }

    func changed(_ what: DeviceNews.Topic...) { room.send(.changed(device: device, Set(what))) }

    func changedEverything() { room.send(.changed(device: device, Set(DeviceNews.Topic.allCases))) }
}
