/// The limits of an HTTP request that apply before its path is known.
public enum HTTPLimits {
    /// The maximum size of a request line and header fields together (16 KiB); more is 431.
    public static let headBytesMax = 16 << 10
    /// The maximum size of a request line (8 KiB); more is 414.
    public static let requestLineBytesMax = 8 << 10
    /// The maximum number of header fields of a request; more is 431.
    public static let fieldsMax = 100
    /// The maximum number of hexadecimal digits of a chunk's size.
    static let chunkSizeDigitsMax = 8
}
