/// The limits of clients' connections, and what happens at each.
package enum SessionLimits {
    /// The most replies that may wait on one connection; at that number no more of its lines are
    /// taken.
    package static let slotsMax = 1_024

    /// The most bytes of replies that may wait on one connection, with the same effect.
    package static let replyBytesMax = 1 << 20

    /// The number of lines answered in a turn of the event loop.
    ///
    /// It is divided among the connections that have more than their share; the rest of their lines
    /// wait for the next turn.
    package static let linesPerTurnMax = 4_096

    /// The least share of the lines for one connection.
    package static let linesPerTurnMin = 16

    /// The time for clients' requests in a turn of the event loop, in microseconds: once for
    /// requests that waited, once for those that waited for memory, once for connections of the
    /// port for apps that waited, and once more on each port for what is read in the turn.
    ///
    /// The rest of the turn is for members, the disk and timers.
    package static let turnMicrosecondsMax: UInt64 = 8_000

    /// The least share of that time for one connection; a request that was begun is finished.
    package static let turnMicrosecondsMin: UInt64 = 250

    /// How many bytes of a reply are handed to the network at a time, so that the rest of a long
    /// reply is not held twice.
    package static let aheadBytesMax = 256 << 10

    /// The bytes that a connection may always hold.
    ///
    /// They are not counted, so that a client that sends short lines and reads its replies is not
    /// affected by others.
    package static let freeBytes = 16 << 10

    /// The number of bytes held by all connections at which memory is tight: less is read at a
    /// time, and connections that hold more than `freeBytes` wait, or are closed if their clients
    /// stall.
    package static let heldBytesTight = 10 << 20

    /// The most bytes that all connections together may hold.
    ///
    /// A request whose reply might exceed it waits for memory; a long line that would exceed it is
    /// refused (503) and skipped to its end. The line of an event counts once, however many clients
    /// it waits for.
    package static let heldBytesMax = 20 << 20

    /// The most bytes that a user, or a connection without one, may hold as one who holds little.
    ///
    /// It is the estimate of one list. Their requests do not wait for those who hold more; a reply
    /// of unknown size that is estimated at up to `textsBytesEstimated` counts as such a list,
    /// since nearly all are far shorter.
    package static let lightBytesMax = listBytesEstimated

    /// The most bytes that all of those who hold little may hold beyond `heldBytesMax`, each reply
    /// as large as it counts before it is made.
    package static let heldBytesOfLight = 8 << 20

    /// How long a client may stall while memory is tight, in milliseconds.
    ///
    /// A client that does not read is disconnected; the line of one that does not end it is refused
    /// (503).
    package static let stalledMillisecondsMax: UInt64 = 1_000

    /// The bytes that a client has to read in that time; with fewer it stalls.
    package static let movingBytesMin = 64 << 10

    /// The estimate for each message of a list before it is read, in bytes: the longest text and
    /// its names.
    package static let messageBytesEstimated = 17 << 10

    /// The estimate for a list of pinned messages or of a message's texts, in bytes: there may be
    /// hundreds of the longest texts, which another node may send.
    package static let textsBytesEstimated = 4 << 20

    /// The estimate for a list of another kind, in bytes.
    package static let listBytesEstimated = 1 << 20

    /// The bytes that are held for each byte of a large list: as it comes from other nodes or is
    /// read here, and as the reply that is made of it.
    package static let listBytesHeld = 3

    /// The bytes not taken by a watching client from which the client counts as full.
    package static let eventBytesFull = 256 << 10

    /// How long a client may be full before it is disconnected, in milliseconds.
    package static let fullMillisecondsMax: UInt64 = 5_000

    /// The most bytes of events that wait for one client; at more it is disconnected at once.
    ///
    /// While all clients together hold `heldBytesMax`, the limit is `freeBytes`.
    ///
    /// Each event counts its whole line, so the number of waiting events is limited, too.
    package static let eventBytesMax = 8 << 20
}
