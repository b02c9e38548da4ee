// This source file is part of the Optimist open source project, under the MIT licence.

/// Which passwords may be chosen. One that was chosen before a rule came stays valid.
///
/// > Source: NIST SP 800-63B-4 §3.1.1.2: at least 8 characters, none of the common ones, nothing of the account's own; no
/// > rule on which characters it has.
enum PasswordRules {
    /// - Throws: ``AuthRefusal`` with the reason `weak_password`, `invalid_password`, `common_password` or
    ///   `password_is_address`.
    static func check(_ password: String, email: String) throws(AuthRefusal) {
        try checkLength(password)
        guard password.count >= 8 else {
            throw .invalidRequest("A password has at least 8 characters.", reason: "weak_password")
        }
        let (lower, address) = (password.lowercased(), email.lowercased())
        guard lower != address, lower != address.prefix(while: { $0 != "@" }) else {
            throw .invalidRequest(
                "The password is the email address, or its first part. Choose another.", reason: "password_is_address")
        }
        guard !CommonPasswords.contains(lower) else {
            throw .invalidRequest(
                "This is one of the most common passwords, which attackers try first. Choose another.",
                reason: "common_password")
        }
    }

    /// So that no client makes the server hash a book.
    static func checkLength(_ password: String) throws(AuthRefusal) {
        guard password.utf8.count <= 1024 else {
            throw .invalidRequest("A password has at most 1024 bytes.", reason: "invalid_password")
        }
    }
}
