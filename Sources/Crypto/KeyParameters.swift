import COpenSSL

/// The names of the parameters from which OpenSSL creates keys; OpenSSL keeps pointers to them.
enum KeyParameters {
    static let modulus: StaticString = "n"
    static let exponent: StaticString = "e"
    static let group: StaticString = "group"
    static let p256: StaticString = "prime256v1"
    static let point: StaticString = "pub"
    static let privateNumber: StaticString = "priv"

    // Swift does not import OpenSSL's macros for the parts of a key.
    static let ofPublicKey = OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY
    static let ofKeyPair = ofPublicKey | OSSL_KEYMGMT_SELECT_PRIVATE_KEY

    /// Creates an OpenSSL key, which the caller must free; nil if OpenSSL refuses the parameters.
    ///
    /// - Parameters:
    ///   - parts: the parts of the key: `ofPublicKey` or `ofKeyPair`.
    ///   - build: adds the parameters, which must stay valid until this method returns.
    static func key(
        _ kind: String, _ parts: Int32, _ build: (OpaquePointer) -> Void
    ) -> OpaquePointer? {
        guard let builder = OSSL_PARAM_BLD_new() else { return nil }
        defer { OSSL_PARAM_BLD_free(builder) }
        build(builder)
        guard let parameters = OSSL_PARAM_BLD_to_param(builder) else { return nil }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil) else { return nil }
        defer {
            EVP_PKEY_CTX_free(context)
            // The error queue is cleared, because refused parameters leave errors in it.
            ERR_clear_error()
        }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, parts, parameters) == 1
        else { return nil }
        return key
    }

    /// Adds the elliptic curve P-256 and a point on it to the parameters of an OpenSSL key.
    static func addP256(_ point: UnsafeRawBufferPointer, to builder: OpaquePointer) {
        OSSL_PARAM_BLD_push_utf8_string(builder, group.start, p256.start, 0)
        OSSL_PARAM_BLD_push_octet_string(
            builder, KeyParameters.point.start, point.baseAddress, point.count)
    }
}

extension StaticString {
    /// The address of the first byte; the bytes end with a zero and exist as long as the process.
    var start: UnsafePointer<CChar> {
        UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
