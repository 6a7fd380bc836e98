import Crypto
import Glibc
import Wire

/// The users of a benchmark at the port for apps, and the key that signs their access tokens.
enum AppIdentity {
    private static let secret = Array("a key of benchmarks, known to all".utf8)

    /// The content of the nodes' `--jwt-key`.
    static let keySet = #"{"keys":[{"kty":"oct","k":""# + Base64.encode(secret) + #""}]}"#

    /// Returns an access token that is valid for as long as any benchmark: twelve hours.
    static func token(of user: String) -> String {
        let header = Base64.encode(Array(#"{"alg":"HS256"}"#.utf8))
        let end = time(nil) + 12 * 3_600
        let claims = Base64.encode(Array(#"{"sub":"\#(user)","exp":\#(end)}"#.utf8))
        let message = header + "." + claims
        return message + "." + Base64.encode(Digest.hmacSHA256(message.utf8, key: secret))
    }
}
