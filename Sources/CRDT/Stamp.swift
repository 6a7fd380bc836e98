import Wire

/// The identity and the time of an operation, with a total order over all operations.
///
/// The node that reads a line assigns the stamp before the operation is executed or forwarded, and
/// every retry has the same stamp. Therefore an operation that two nodes execute, or that is
/// executed late, is recognized as one operation wherever its effects meet.
public struct Stamp: Hashable, Sendable {
    public let time: HybridTimestamp
    /// The process that read the line; the dot, in contrast, names the replica that executed it.
    public let process: ProcessID
    /// The number of the operation within its process, in the order of its lines, from 1.
    public let counter: UInt64

    /// The greatest counter that is accepted; no process reads more lines.
    static let counterMax: UInt64 = 1 << 62

    public init(time: HybridTimestamp, process: ProcessID, counter: UInt64) {
        self.time = time
        self.process = process
        self.counter = counter
    }
}

extension Stamp: Comparable {
    public static func < (left: Stamp, right: Stamp) -> Bool {
        (left.time, left.process, left.counter) < (right.time, right.process, right.counter)
    }
}

extension Stamp: WireValue {
    public func encode(into writer: inout ByteWriter) {
        time.encode(into: &writer)
        writer.write(process)
        writer.write(varint: counter)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            time: try HybridTimestamp(from: &reader), process: try reader.readID(),
            counter: try reader.readVarint())
        guard (1...Stamp.counterMax).contains(counter) else { throw .invalid("a counter from 1") }
    }
}

/// The set of all operations of one process up to a counter.
public struct ProcessCounter: Hashable, Sendable {
    public let process: ProcessID
    public let counter: UInt64

    public init(process: ProcessID, counter: UInt64) {
        self.process = process
        self.counter = counter
    }
}

extension ProcessCounter: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(process)
        writer.write(varint: counter)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(process: try reader.readID(), counter: try reader.readVarint())
        guard (1...Stamp.counterMax).contains(counter) else { throw .invalid("a counter from 1") }
    }
}
