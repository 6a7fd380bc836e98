/// The limits of the port for apps, each with what happens beyond it.
package enum AppLimits {
    /// The most bytes of a request's body (413): the longest text, each of its characters escaped.
    package static let bodyBytesMax = 128 << 10
    /// The most parts of files that are being stored at once, for all uploads together; the others
    /// wait, and no more is read of them.
    package static let partsAtOnceMax = 64
    /// How long a connection keeps the session of its last request for the next one, in
    /// milliseconds.
    static let sessionMillisecondsMax: UInt64 = 1_000
    /// The most bytes of an answer (413): it is held as a whole, since what stands for it in
    /// `Grapevine-Token` is known at its end and sent before it.
    package static let answerBytesMax = 8 << 20
    /// The most e-mail addresses with which one conversation is created (400).
    package static let emailsMax = 20
    /// The bytes of an answer from which on it is compressed on request: less fits one packet.
    package static let compressedBytesMin = 1 << 10
    /// The most bytes of an answer that is compressed at once; more is compressed beside the loop.
    package static let compressedAtOnceMax = 16 << 10
    /// The most bytes of an answer that is compressed: some ten milliseconds' work.
    package static let compressedBytesMax = 1 << 20
    /// The most milliseconds from the first byte of a request to its end (408).
    package static let requestMillisecondsMax: UInt64 = 10_000
    /// The most milliseconds without a request; then the connection is closed: longer than the 60 s
    /// after which proxies close it, so that none sends a request on a connection that is closing.
    package static let idleMillisecondsMax: UInt64 = 75_000
    /// The most milliseconds in which a client takes nothing of its response; then the connection
    /// is closed.
    ///
    /// The kernel takes more only once a third of what it holds is gone, some 85 KiB: a client at
    /// 3 KiB a second takes nothing for nearly so long.
    package static let stalledMillisecondsMax: UInt64 = 30_000
    /// The bytes a second that a client has to take of its responses over `paceMilliseconds`; else
    /// the connection is closed.
    package static let paceBytesPerSecond: UInt64 = 1_024
    /// The milliseconds over which its pace is measured.
    package static let paceMilliseconds: UInt64 = 90_000
    /// The milliseconds after which a stream in which nothing was sent gets a sign of life.
    package static let heartbeatMilliseconds: UInt64 = 20_000
    /// The most milliseconds without a byte from the client of a WebSocket, which answers pings;
    /// then the connection is closed.
    package static let silentMillisecondsMax: UInt64 = 60_000
    /// The most requests of one WebSocket that wait for their answers; then no more are read.
    package static let waitingRequestsMax = 256
    /// The most bytes of a request's id on a WebSocket (400).
    package static let requestIDBytesMax = 64
}
