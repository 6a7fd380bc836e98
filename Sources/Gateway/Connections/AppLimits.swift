/// The limits of the port for apps; a number such as (413) is the HTTP status of a request beyond
/// the limit.
package enum AppLimits {
    /// The maximum size of a request body, in bytes (413): enough for the longest message text with
    /// every character escaped.
    package static let bodyBytesMax = 128 << 10
    /// The maximum number of file parts being stored at once, over all uploads; beyond it, the node
    /// stops reading an upload until it may store the upload's next part.
    package static let partsAtOnceMax = 64
    /// How long a connection keeps the session of its last request for reuse, in milliseconds.
    static let sessionMillisecondsMax: UInt64 = 1_000
    /// The maximum size of a response body, in bytes (413): the body is buffered whole, because the
    /// header field `Grapevine-Token` precedes the body, and the field's value is known only once
    /// the body is complete.
    package static let answerBytesMax = 8 << 20
    /// The maximum number of session tokens in the header field `Grapevine-Token` of a request
    /// (400): the longest ones fit into a request's head.
    package static let tokensMax = 6
    /// The maximum number of e-mail addresses in a request that creates a conversation (400).
    package static let emailsMax = 20
    /// The minimum size of a response body that is compressed, in bytes; a smaller body fits into
    /// one packet.
    package static let compressedBytesMin = 1 << 10
    /// The maximum size of a response body that is compressed on the event loop, in bytes; a larger
    /// one is compressed on another thread.
    package static let compressedAtOnceMax = 16 << 10
    /// The maximum size of a response body that is compressed, in bytes, because compressing that
    /// many takes some 10 ms.
    package static let compressedBytesMax = 1 << 20
    /// The maximum time from the first byte of a request to its last, in milliseconds; a slower
    /// request gets the error 408.
    package static let requestMillisecondsMax: UInt64 = 10_000
    /// The idle timeout of a connection, in milliseconds: longer than the 60 s of common proxies,
    /// so that no proxy sends a request on a connection that is closing.
    package static let idleMillisecondsMax: UInt64 = 75_000
    /// The time after which a client that reads nothing of its response is disconnected, in
    /// milliseconds.
    ///
    /// The kernel accepts more bytes only once a third of its send buffer, some 85 KiB, is free, so
    /// a client that reads 3 KiB/s seems to read nothing for nearly 30 s.
    package static let stalledMillisecondsMax: UInt64 = 30_000
    /// The minimum rate at which a client has to read its responses, in bytes per second, averaged
    /// over `paceMilliseconds`; a slower client is disconnected.
    package static let paceBytesPerSecond: UInt64 = 1_024
    /// The interval over which a client's reading rate is measured, in milliseconds.
    package static let paceMilliseconds: UInt64 = 90_000
    /// The time without output after which a WebSocket gets a ping, or an event stream an empty
    /// comment, in milliseconds.
    package static let heartbeatMilliseconds: UInt64 = 20_000
    /// The time without input, not even a pong frame, after which a WebSocket is closed, in
    /// milliseconds.
    package static let silentMillisecondsMax: UInt64 = 60_000
    /// The maximum number of a WebSocket's unanswered requests; at this number, the node stops
    /// reading from the WebSocket until one of them is answered.
    package static let waitingRequestsMax = 256
    /// The maximum length of a request's ID on a WebSocket, in bytes (400).
    package static let requestIDBytesMax = 64
}
