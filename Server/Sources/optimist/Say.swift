// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Writes a line to standard output at once. `print` keeps it back while the output is a pipe, and a script that waits
/// for an address would wait for ever.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}
