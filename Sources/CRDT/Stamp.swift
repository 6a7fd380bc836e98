import Wire

/// The identity and the time of an operation, with a total order over all operations.
///
/// The stamp is assigned before the operation is executed or forwarded, and every retry has the
/// same stamp. Therefore an operation that two nodes execute, or that is executed late, is
/// recognized as one operation wherever its effects meet. The client's device assigns the stamp if
/// the client can number its operations; otherwise the node that reads the line does.
public struct Stamp: Hashable, Sendable {
    public let time: HybridTimestamp
    /// The process that read the line, or the client's device; the dot, in contrast, names the
    /// replica that executed the operation.
    public let process: ProcessID
    /// The number of the operation within its process, in the order of its lines, from 1.
    public let counter: UInt64

    /// The greatest counter that is accepted; no process reads more lines.
    public static let counterMax: UInt64 = 1 << 62

    public init(time: HybridTimestamp, process: ProcessID, counter: UInt64) {
        self.time = time
        self.process = process
        self.counter = counter
    }
}

extension Stamp {
    /// Whether the operation is a device's, and earlier than a removal.
    public func precedes(_ removal: HybridTimestamp?) -> Bool {
        #if PlantedBugs
            if PlantedBug.lateAdditionWins.isOn { return false }
        #endif
        return process.isOfDevice && removal.map { time < $0 } ?? false
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

extension ProcessID {
    /// The greatest number of devices whose additions of one element are recorded.
    ///
    /// A user can name any number of devices, and each of them would leave a record for ever.
    static let devicesMax = 64

    private static let deviceMark: UInt64 = 0x6465_7669 << 32

    /// Creates the process id of a client's device from 96 bits of a cryptographic hash of the
    /// user and the device.
    ///
    /// A node's process id, of random bits, counts as that of a device once in 2³² times, which
    /// changes nothing before 64 of them meet at one element.
    public init(ofDeviceHashedTo high: UInt32, _ low: UInt64) {
        self.init(high: Self.deviceMark | UInt64(high), low: low)
    }

    /// Whether the process is a client's device.
    public var isOfDevice: Bool { high & ~0xFFFF_FFFF == Self.deviceMark }
}
