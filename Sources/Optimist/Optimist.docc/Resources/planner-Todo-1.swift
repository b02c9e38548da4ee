import Foundation
import GRDB
import Optimist

/// An ordinary GRDB record. Its table syncs with the server.
struct Todo: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var title: String
    var done = false
}
