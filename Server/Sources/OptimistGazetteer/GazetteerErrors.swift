// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistCore

/// Why there is no gazetteer. The message says what to do.
extension OptimistError.Code {
    /// The file is missing, is something else, or is of another version's format.
    package static let notAGazetteer = Self("notAGazetteer")
    /// A file of GeoNames' cannot be read, or is not the one that was expected.
    package static let unreadableGeoNames = Self("unreadableGeoNames")
    /// The file could not be written. One that was there before is there still, unchanged.
    package static let gazetteerNotWritten = Self("gazetteerNotWritten")
}
