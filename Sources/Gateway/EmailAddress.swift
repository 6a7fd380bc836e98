import Crypto
import LineProtocol
import Wire

/// An e-mail address, and the name under which its accounts are stored.
package struct EmailAddress: Hashable, Sendable {
    /// RFC 5321, section 4.5.3.1.3, without the angle brackets.
    static let bytesMax = 254

    /// The address as it was typed.
    package let text: String
    /// The digest of the address in lower case: it tells nothing of the address, and is a name.
    package let digest: String

    /// Only the form is checked: whether somebody reads the mail, a mail has to show.
    ///
    /// - Throws: 400.
    package init(_ text: String) throws(LineError) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let isClean = text.unicodeScalars.allSatisfy {
            $0.value > 0x20 && $0.value != 0x7F && !$0.properties.isWhitespace
        }
        guard text.utf8.count <= EmailAddress.bytesMax, parts.count == 2,
            parts.allSatisfy({ !$0.isEmpty }), isClean
        else { throw LineError(400, "The value of email has to be an e-mail address") }
        self.text = text
        // Letters of other alphabets are compared as they are: what is the same there is a matter
        // of the mail server.
        let lower = text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        digest = Base64.encode(Digest.sha256(lower))
    }
}
