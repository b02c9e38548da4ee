// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistProxy

/// A figure of a story, in the old way and with Optimist.
package struct StoryFigure: Codable, Sendable, Equatable {
    package enum Measure: String, Codable, CaseIterable, Sendable {
        case todoShown, rowsKept, tokenSends, tokenRefreshes, redraws, crashFree, firstPicture, firstPictureRatio,
            lastPicture, fetchesPerThing

        package var story: Int {
            switch self {
            case .todoShown: 1
            case .rowsKept: 2
            case .tokenSends, .tokenRefreshes, .redraws, .crashFree: 3
            case .firstPicture, .firstPictureRatio, .lastPicture: 4
            case .fetchesPerThing: 5
            }
        }

        package var title: String {
            switch self {
            case .todoShown: "Time until a new to-do is on the screen"
            case .rowsKept: "Of \(StoryBench.rows) to-dos written offline, on the server afterwards"
            case .tokenSends: "Requests sent when \(StoryBench.requests) meet an expired token"
            case .tokenRefreshes: "Refreshes when \(StoryBench.requests) requests meet an expired token"
            case .redraws: "Redraws for one answer of the first screen"
            case .crashFree: "People who met no crash: in v1.0.1, and in v1.0.2 with the crash mended"
            case .firstPicture: "Time until a page's first picture is on the screen"
            case .firstPictureRatio: "A page's first picture after its page, in times of one request for a picture"
            case .lastPicture: "Time until all eight pictures of a page are on the screen"
            case .fetchesPerThing: "Requests for each picture and place name, swiping"
            }
        }

        /// `ms`, `%`, or empty for a plain number.
        package var unit: String {
            switch self {
            case .todoShown, .firstPicture, .lastPicture: "ms"
            case .crashFree: "%"
            default: ""
            }
        }
    }

    package var measure: Measure
    package var network: NetworkConditions.Profile
    /// Nil if it exceeded its time limit.
    package var oldWay: Double?
    package var optimist: Double?
}

extension StoryFigure {
    package func text(_ value: Double?) -> String {
        guard let value else { return "never" }
        if measure.unit == "ms" {
            return value < 10 ? "\((value * 10).rounded() / 10) ms" : "\(Int(value.rounded())) ms"
        }
        if measure.unit == "%" { return "\((value * 10).rounded() / 10) %" }
        return value == value.rounded() ? "\(Int(value))" : "\((value * 100).rounded() / 100)"
    }
}

extension NetworkConditions.Profile {
    package var title: String {
        switch self {
        case .online: "online"
        case .fourG: "4G"
        case .threeG: "3G"
        case .flaky: "flaky"
        case .offline: "offline"
        }
    }
}
