import Crypto
import LineProtocol
import Spelling
import Wire

/// An e-mail address, and the digest under which the cluster stores the accounts with the address.
package struct EmailAddress: Hashable, Sendable {
    /// The maximum length of an e-mail address, in bytes: that of a path in RFC 5321 (section
    /// 4.5.3.1.3) without its angle brackets.
    static let bytesMax = 254

    /// The e-mail address as the user typed it.
    package let text: String
    /// The SHA-256 digest of the normalised address, in base64url: an ID that does not show the
    /// address.
    package let digest: AddressID

    /// Checks the syntax of an e-mail address, but not whether the mailbox exists.
    ///
    /// Two e-mail addresses have the same digest if they differ only in case, in the Unicode
    /// normalisation form, or in the spelling of an internationalised domain name.
    ///
    /// - Throws: 400 for an invalid address.
    package init(_ text: String) throws(LineError) {
        let parts = try EmailAddress.parts(of: text)
        guard !text.unicodeScalars.contains(where: Spelling.isUnseen),
            let local = Spelling.folded(parts.local),
            let domain = Spelling.asciiDomain(parts.domain), !domain.isEmpty
        else { throw .noEmailAddress }
        self.text = text
        digest = EmailAddress.digest(of: Array("\(local)@\(domain)".utf8))
    }

    /// The digests under which an account with this e-mail address may be stored: the current
    /// digest and, if it differs, the digest that earlier versions of this program used.
    private var storedDigests: [AddressID] {
        [digest] + [EmailAddress.earlierDigest(of: text)].filter { $0 != digest }
    }

    /// Returns the digests under which an account with an e-mail address may be stored: the current
    /// one, then that of earlier program versions, which normalised only the case of ASCII letters.
    ///
    /// - Throws: 400 for an invalid address.
    package static func storedDigests(of text: String) throws(LineError) -> [AddressID] {
        _ = try parts(of: text)
        do throws(LineError) {
            return try EmailAddress(text).storedDigests
        } catch {
            return [earlierDigest(of: text)]
        }
    }

    private static func earlierDigest(of text: String) -> AddressID {
        digest(of: text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
    }

    private static func parts(
        of text: String
    ) throws(LineError) -> (local: String, domain: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let isClean = text.unicodeScalars.allSatisfy {
            $0.value > 0x20 && $0.value != 0x7F && !$0.properties.isWhitespace
        }
        guard text.utf8.count <= bytesMax, parts.count == 2,
            parts.allSatisfy({ !$0.isEmpty }), isClean
        else { throw .noEmailAddress }
        return (String(parts[0]), String(parts[1]))
    }

    private static func digest(of bytes: [UInt8]) -> AddressID {
        AddressID(checked: Base64.encode(Digest.sha256(bytes)))
    }
}

extension LineError {
    static let noEmailAddress = LineError(
        400, "The value of email has to be an e-mail address")
}
