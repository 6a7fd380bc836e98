import Chat
import Replication

/// The calls for parts of users' lists that are too large to be answered unasked.
///
/// A member whose part has more than `Findings.partBytesMax` says so, and keeps nothing of it; it
/// is called again once there is memory for the list. So the memory of lists that are on their way
/// is bounded, however many clients ask for lists and read none.
struct LargeLists: Sendable {
    /// The calls that wait for memory; the first one goes on first.
    private var delayed: ArraySlice<ShardCall> = []
    /// The sizes of the parts that are on their way, by the numbers of their calls.
    private var running: [UInt64: Int] = [:]

    /// The most bytes that are on their way at a time, unless one part alone has more (8 MiB).
    static let bytesMax = 8 << 20

    /// The number of calls that wait.
    var count: Int { delayed.count }

    var first: ShardCall? { delayed.first }

    /// Whether a part may be called for beside those that are on their way.
    func hasCapacity(for bytes: Int) -> Bool {
        running.isEmpty || running.values.reduce(bytes, +) <= LargeLists.bytesMax
    }

    mutating func delay(_ call: ShardCall) { delayed.append(call) }

    mutating func removeFirst() { delayed = delayed.dropFirst() }

    mutating func begin(_ number: UInt64, of bytes: Int) { running[number] = bytes }

    /// Forgets the calls that have ended.
    mutating func keepRunning(_ isOutstanding: (UInt64) -> Bool) {
        if !running.isEmpty { running = running.filter { isOutstanding($0.key) } }
    }
}

extension Node {
    /// Puts off a call whose answer is too large to come unasked.
    func delay(_ call: ShardCall, of bytes: Int) {
        // What was reserved before its size was known.
        if scatterGathers[call.slot]?.isDelayed == false {
            scatterGathers[call.slot]?.isDelayed = true
            sinks[call.slot.session]?.onListDelayed(call.slot.number)
        }
        largeLists.delay(
            ShardCall(
                slot: call.slot, target: call.target, shards: call.shards,
                largeBytes: min(bytes, LargeLists.bytesMax), heardAt: ports.clock.milliseconds))
        ports.host.turnAgain()
    }

    /// Calls again for large parts of lists, in their order, while there is memory for them.
    func startLargeLists() {
        largeLists.keepRunning { shardCalls[$0] != nil }
        while let call = largeLists.first, let bytes = call.largeBytes {
            if let sink = sinks[call.slot.session] {
                guard largeLists.hasCapacity(for: bytes),
                    sink.reserveList(call.slot.number, bytes)
                else { return }
                callAgain(call, for: bytes)
            } else {
                // Who asked has gone.
                endGather(call.slot)
            }
            largeLists.removeFirst()
        }
    }

    private func callAgain(_ delayed: ShardCall, for bytes: Int) {
        guard let scatterGather = scatterGathers[delayed.slot] else { return }
        var call = delayed
        call.heardAt = ports.clock.milliseconds
        guard let number = send(call, of: scatterGather) else {
            return mergeParts([], missing: call.shards, of: call)
        }
        largeLists.begin(number, of: bytes)
    }
}
