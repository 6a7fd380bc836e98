/// The limits of connections of clients, each with what happens when it is passed.
package enum SessionLimits {
    /// The most replies that may wait on one connection before no more of its lines are taken.
    package static let slotsMax = 1_024

    /// The most bytes of replies that may wait on one connection, for the same.
    package static let replyBytesMax = 1 << 20

    /// How many lines are answered in a turn of the event loop, divided among the connections that
    /// have more than their share: then it is the others' turn.
    package static let linesPerTurnMax = 4_096

    /// A connection's share of them, at least.
    package static let linesPerTurnMin = 16

    /// How long clients' requests may take in a turn of the event loop, in microseconds: what waits
    /// for its turn and what is read in it have that each.
    ///
    /// Then it is the turn of members, of the disk and of time.
    package static let turnMicrosecondsMax: UInt64 = 8_000

    /// A connection's share of that, at least; a request that was begun is finished.
    package static let turnMicrosecondsMin: UInt64 = 250

    /// How many bytes of a reply are handed to the network at a time: the rest of a long one is
    /// not held twice.
    package static let aheadBytesMax = 256 << 10

    /// What a connection may always hold, in bytes: what is below is not counted, so that whoever
    /// sends short lines and reads the replies never notices what others do.
    package static let freeBytes = 16 << 10

    /// From here on, counted over all connections, memory is tight: less is read at a time, and
    /// whoever holds more than is free to all waits, or is let go for its standing still.
    package static let heldBytesTight = 10 << 20

    /// The most bytes that all connections together may hold: a request whose reply might pass it
    /// waits for room, and a long line that would is refused (503) and skipped to its end.
    ///
    /// The line of an event counts once, however many clients it waits for.
    package static let heldBytesMax = 20 << 20

    /// How long a client may stand still while memory is tight, in milliseconds.
    ///
    /// It does not read: its connection is closed. It does not end its line: that is refused (503).
    package static let stillMillisecondsMax: UInt64 = 1_000

    /// Who reads less than this in that time stands still, in bytes.
    package static let movingBytesMin = 64 << 10

    /// What is reckoned for each message of a list before it is read, in bytes: the longest text
    /// and its names.
    package static let messageBytesEstimated = 17 << 10

    /// What is reckoned for a list of another kind.
    package static let listBytesEstimated = 1 << 20

    /// From here on a client that watches counts as full, in bytes that it has not taken.
    package static let eventBytesFull = 256 << 10

    /// How long it may stay so, in milliseconds, before its connection is closed.
    package static let fullMillisecondsMax: UInt64 = 5_000

    /// The most bytes of events that wait for one client: whose passes it is closed at once; while
    /// all clients together hold as much as they may, who holds more than is free to all.
    ///
    /// Each event counts its whole line, so this limits how many wait, too.
    package static let eventBytesMax = 8 << 20
}
