// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistLoading
import Testing

@Suite(.timeLimit(.minutes(20)))
struct PlaceKeyTests {
    @Test func `C9 points within about a hundred metres in one language share a key`() throws {
        let key = try #require(PlaceKey(latitude: 35.68123, longitude: 139.76712, language: "ja"))
        #expect(key == PlaceKey(latitude: 35.68149, longitude: 139.76651, language: "ja-JP"))
        #expect(key != PlaceKey(latitude: 35.68151, longitude: 139.76712, language: "ja"))
        #expect(key != PlaceKey(latitude: 35.68123, longitude: 139.76712, language: "en"))
        #expect(key.latitude == 35.681)
        #expect(key.longitude == 139.767)
        #expect(key.name == "ja/35681/139767")
    }

    @Test func `C9 both sides of the 180th meridian share a key`() {
        #expect(
            PlaceKey(latitude: -18, longitude: 180, language: "en")
                == PlaceKey(latitude: -18, longitude: -180, language: "EN_fj"))
    }

    @Test(arguments: [90.0, 89.9996, -90, -89.9999])
    func `C9 a pole is one key at every longitude, unlike points near it`(latitude: Double) {
        let pole = PlaceKey(latitude: latitude, longitude: 0, language: "en")
        for longitude in [-180.0, -90, 12.3456, 180] {
            #expect(PlaceKey(latitude: latitude, longitude: longitude, language: "en") == pole)
        }
        #expect(
            PlaceKey(latitude: latitude.rounded() * 0.99, longitude: 1, language: "en")
                != PlaceKey(latitude: latitude.rounded() * 0.99, longitude: 2, language: "en"))
    }

    @Test(arguments: [(90.1, 0), (0, 180.1), (.nan, 0), (0, .infinity)])
    func `coordinates outside the Earth have no key`(latitude: Double, longitude: Double) {
        #expect(PlaceKey(latitude: latitude, longitude: longitude, language: "en") == nil)
    }

    @Test(arguments: [
        ("ja-JP", "ja"), ("zh-Hans-CN", "zh-Hans"), ("ZH_hant_TW", "zh-Hant"), ("zh-TW", "zh-Hant"),
        ("zh_hk", "zh-Hant"), ("zh-MO", "zh-Hant"), ("zh-CN", "zh-Hans"), ("zh-cmn-SG", "zh-Hans"), ("zh", "zh"),
        ("zh-US", "zh"), ("zh-Hans-HK", "zh-Hans"), ("ja-TW", "ja"),
        ("zh-cmn-Hans-CN", "zh-Hans"), ("sr-Latn", "sr-Latn"), ("de-1996", "de"), ("en-US-x-Latn", "en"),
        ("", "und"), ("e", "und"), ("-Latn", "und"), ("日本語", "und"), ("en&lat=1", "und"), ("ja-\u{ff21}bcd", "ja"),
        ("en/../a", "und"), ("ja-La%n", "ja"), ("abcdefghi", "und"),
    ])
    func `C9 a language includes its script, and an invalid tag is unknown`(tag: String, language: String) {
        #expect(PlaceKey(latitude: 0, longitude: 0, language: tag)?.language == language)
    }
}
