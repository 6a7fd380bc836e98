/// The limits of clients' connections, and the consequence of reaching each limit.
package enum SessionLimits {
    /// The most replies that may wait on one connection.
    ///
    /// At this number, the session reads no more lines of that connection.
    package static let slotsMax = 1_024

    /// The most bytes of replies that may wait on one connection.
    ///
    /// At this number, the session reads no more lines of that connection.
    package static let replyBytesMax = 1 << 20

    /// The number of lines that sessions answer in one iteration of the event loop ("turn").
    ///
    /// The number is divided among the clients whose lines exceed their share; the remaining lines
    /// wait for the next iteration.
    package static let linesPerTurnMax = 4_096

    /// The smallest share of the lines that one connection gets in an iteration of the event loop.
    package static let linesPerTurnMin = 16

    /// The time for clients' requests in one iteration of the event loop, in microseconds.
    ///
    /// This time is granted once for requests that waited, once for requests that waited for
    /// memory, once for waiting connections of the port for apps, and once more on each port for
    /// new input.
    ///
    /// The rest of the iteration is left for members, the disk and timers.
    package static let turnMicrosecondsMax: UInt64 = 8_000

    /// The smallest share of the time for one connection, in microseconds; a request that has begun
    /// is always finished.
    package static let turnMicrosecondsMin: UInt64 = 250

    /// The number of bytes of a reply that are passed to the network at a time, so that the rest of
    /// a long reply is not in memory twice.
    package static let aheadBytesMax = 256 << 10

    /// The bytes that a connection may always store in memory.
    ///
    /// These bytes are not counted, so that other clients do not affect a client that sends short
    /// lines and reads its replies.
    package static let freeBytes = 16 << 10

    /// The number of bytes stored by all connections together at which memory is tight.
    ///
    /// The node then reads fewer bytes at a time, and connections that store more than `freeBytes`
    /// wait, or are closed if their clients stall.
    package static let heldBytesTight = 10 << 20

    /// The most bytes that all connections together may store in memory.
    ///
    /// A request whose reply might exceed this limit waits for memory. A long line that would
    /// exceed this limit is refused (503) and skipped to its end. The line of an event counts once,
    /// however many clients the line waits for.
    package static let heldBytesMax = 20 << 20

    /// The most bytes that a user, or a connection without a user, may store to count as light.
    ///
    /// The limit is the estimate of one list. Requests of light users do not wait for users who
    /// store more. A reply of unknown size with an estimate of at most `textsBytesEstimated` counts
    /// as one list, since nearly all such replies are far shorter.
    package static let lightBytesMax = listBytesEstimated

    /// The most bytes that all light users together may store beyond `heldBytesMax`; a reply counts
    /// with its estimate until the reply is made.
    package static let heldBytesOfLight = 8 << 20

    /// The time for which a client may stall while memory is tight, in milliseconds.
    ///
    /// A client that does not read is then disconnected; an unfinished line is refused (503).
    package static let stalledMillisecondsMax: UInt64 = 1_000

    /// The bytes that a client has to read within `stalledMillisecondsMax` in order not to stall.
    package static let movingBytesMin = 64 << 10

    /// The estimated size of a message that is not read yet, in bytes: the longest text, and names.
    package static let messageBytesEstimated = 17 << 10

    /// The estimated size of a list of pinned messages or of a message's texts, in bytes.
    ///
    /// Such a list may contain hundreds of the longest texts, and another node may send it.
    package static let textsBytesEstimated = 4 << 20

    /// The estimated size of any other list, in bytes.
    package static let listBytesEstimated = 1 << 20

    /// The bytes of memory for each byte of a large list: the list as received from other nodes or
    /// read here, and the reply that is made from the list.
    package static let listBytesHeld = 3

    /// The number of unread bytes at which a client that watches events counts as full.
    package static let eventBytesFull = 256 << 10

    /// The time for which a client may count as full before it is disconnected, in milliseconds.
    package static let fullMillisecondsMax: UInt64 = 5_000

    /// The most bytes of events that may wait for one client; beyond this the client is
    /// disconnected at once.
    ///
    /// While all clients together store `heldBytesMax` bytes, the limit is `freeBytes`.
    ///
    /// Each event counts with its whole line, so the limit also bounds the number of events.
    package static let eventBytesMax = 8 << 20
}
