// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistCore

/// Why a gazetteer cannot be opened or imported. The message says what to do.
extension OptimistError.Code {
    /// The file is missing, is not a gazetteer, or has another version's format.
    package static let notAGazetteer = Self("notAGazetteer")
    /// A GeoNames file cannot be read, or is not the expected one.
    package static let unreadableGeoNames = Self("unreadableGeoNames")
    /// The file could not be written. An existing gazetteer is unchanged.
    package static let gazetteerNotWritten = Self("gazetteerNotWritten")
}
