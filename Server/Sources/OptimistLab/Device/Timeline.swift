// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// An event on a device, for the web page and for programs that control the lab.
struct TimelineEvent: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        case write, shown, sent, accepted, merged, rejected, received, seen, network, crash, killed, restart, session
        /// The progress of a short video's values.
        case short, atOnce, joined, asked, loaded, failed
        /// The progress of a page of poses.
        case page, places, firstPicture, allPictures
        case home, redraw
    }

    var at: Date
    var ms: Double
    var kind: Kind
    var device: String
    var row: String?
    var text: String?
}

/// A message from a device to its followers.
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

struct NewsDesk: Sendable {
    let device: String
    let started: ContinuousClock.Instant
    let room: Newsroom

    func tell(_ kind: TimelineEvent.Kind, _ text: String? = nil, row: UUID) {
        tell(kind, text, row: row.uuidString.lowercased())
    }

    /// - Parameter row: The timeline row, such as the id of a to-do. Nil if the event stands alone.
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
