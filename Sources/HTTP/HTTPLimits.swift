/// The limits of what a client may send before its request is routed.
public enum HTTPLimits {
    /// The bytes of a request line and header fields together (16 KiB); more is 431.
    public static let headBytesMax = 16 << 10
    /// The bytes of a request line (8 KiB); more is 414.
    public static let requestLineBytesMax = 8 << 10
    /// The header fields of a request; more is 431.
    public static let fieldsMax = 100
    /// The hexadecimal digits of a chunk's size.
    static let chunkSizeDigitsMax = 8
}
