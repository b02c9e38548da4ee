// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistLoading
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PlaceKeyTests {
    @Test func `C9 points within some hundred metres and one language are one key`() throws {
        let key = try #require(PlaceKey(latitude: 35.68123, longitude: 139.76712, language: "ja"))
        #expect(key == PlaceKey(latitude: 35.68149, longitude: 139.76651, language: "ja-JP"))
        #expect(key != PlaceKey(latitude: 35.68151, longitude: 139.76712, language: "ja"))
        #expect(key != PlaceKey(latitude: 35.68123, longitude: 139.76712, language: "en"))
        #expect(key.latitude == 35.681)
        #expect(key.longitude == 139.767)
        #expect(key.name == "ja/35681/139767")
    }

    @Test func `C9 the meridian at which east and west meet is one`() {
        #expect(
            PlaceKey(latitude: -18, longitude: 180, language: "en")
                == PlaceKey(latitude: -18, longitude: -180, language: "EN_fj"))
    }

    @Test(arguments: [(90.1, 0), (0, 180.1), (.nan, 0), (0, .infinity)])
    func `what is not on the Earth has no key`(latitude: Double, longitude: Double) {
        #expect(PlaceKey(latitude: latitude, longitude: longitude, language: "en") == nil)
    }

    @Test func `no language has no key`() { #expect(PlaceKey(latitude: 0, longitude: 0, language: "") == nil) }
}
