// This source file is part of the Optimist open source project, under the MIT licence.

// The subset of Apple's CoreLocation that the adapters use, for type-checking on other systems.
public import Foundation

public final class CLLocation: Sendable {
    public init(latitude: Double, longitude: Double) {}
}

public final class CLPlacemark: Sendable {
    public var locality: String? { nil }
    public var administrativeArea: String? { nil }
    public var isoCountryCode: String? { nil }
}

public struct CLError: Error, Sendable {
    public enum Code: Int, Sendable {
        case network = 2
        case geocodeFoundNoResult = 8
    }

    public var code: Code { .network }
}

public final class CLGeocoder: Sendable {
    public init() {}
    public func reverseGeocodeLocation(
        _ location: CLLocation, preferredLocale: Locale?
    ) async throws -> [CLPlacemark] { [] }
}
