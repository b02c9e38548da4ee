// This source file is part of the Optimist open source project, under the MIT licence.

/// The rules for new passwords. Older passwords stay valid.
///
/// > Source: NIST SP 800-63B-4 §3.1.1.2: at least 8 characters, not a common password, nothing from the account itself;
/// > no composition rules.
enum PasswordRules {
    /// - Throws: ``AuthRefusal`` with the reason `weak_password`, `invalid_password`, `common_password` or
    ///   `password_is_address`.
    static func check(_ password: String, email: String) throws(AuthRefusal) {
        try checkLength(password)
        guard password.count >= 8 else {
            throw .invalidRequest("The password must have at least 8 characters.", reason: "weak_password")
        }
        let (lower, address) = (password.lowercased(), email.lowercased())
        guard lower != address, lower != address.prefix(while: { $0 != "@" }) else {
            throw .invalidRequest(
                "The password must not be the email address or its first part. Choose another.",
                reason: "password_is_address")
        }
        guard !CommonPasswords.contains(lower) else {
            throw .invalidRequest(
                "This is one of the most common passwords. Attackers try these first. Choose another.",
                reason: "common_password")
        }
    }

    /// Keeps clients from making the server hash large inputs.
    static func checkLength(_ password: String) throws(AuthRefusal) {
        guard password.utf8.count <= 1024 else {
            throw .invalidRequest("The password must have at most 1024 bytes.", reason: "invalid_password")
        }
    }
}
