// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension Request {
    /// Checks that a program with a service key does not write as a device: its clocks are the server's.
    ///
    /// - Throws: ``RequestProblem`` `notRequest`.
    func checkIsOfService() throws(RequestProblem) {
        guard device == nil, push == nil, groups.isEmpty, origins.isEmpty else {
            throw .notRequest(
                "A service key does not write as a device: leave out \"device\", \"push\", \"groups\" and \"origins\".")
        }
    }
}

extension ServiceReader {
    /// - Parameter type: The current name.
    /// - Throws: ``MethodError`` `forbidden`.
    func check(_ type: String) throws(MethodError) {
        guard types?.contains(type) ?? true else {
            throw MethodError("forbidden", "The service key does not allow the type \"\(type.prefix(100))\".")
        }
    }

    /// - Throws: ``MethodError`` `accountReadOnly`.
    func checkMayWrite() throws(MethodError) {
        guard mayWrite else { throw MethodError("accountReadOnly", "The service key allows only reading.") }
    }
}
