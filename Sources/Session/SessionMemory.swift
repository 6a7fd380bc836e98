import Admin
import Chat
import LineProtocol
import Node
import Wire

/// The memory that a session uses for its client.
extension Session {
    func hasMemory(for bytes: Int, isMeasured: Bool = false) -> Bool {
        memory?.assumeIsolated { [source] in
            $0.hasCapacity(for: bytes, of: source, isMeasured: isMeasured)
        } ?? true
    }

    private var submittedBytes: Int { submitted.reduce(0) { $0 + $1.request.roughBytes } }

    /// Reports the number of bytes that this session stores to `ClientMemory`.
    func noteHeld() {
        guard let memory, !hasFinished else { return }
        let queued = output.queuedBytes
        let held =
            cutter.keptCount + backlog.count + submittedBytes + ring.bytes + estimated.bytes
            + queued + waiting.ownBytes
        let shared = waiting.sharedBytes
        guard max(held + shared, notedBytes) > SessionLimits.freeBytes else { return }
        notedBytes = held + shared
        // The output may have more bytes queued than the session has written, since TLS adds bytes.
        let (taken, now) = (written - min(written, UInt64(queued)), clock.milliseconds)
        let isItsTurn = queued > 0 || cutter.keptCount > SessionLimits.freeBytes
        memory.assumeIsolated { [id, source] in
            $0.recordHeld(
                id, of: source, holds: held, sharing: shared, isItsTurn: isItsTurn, taken: taken,
                now: now)
        }
    }

    /// Removes the estimated size of a list, for which memory is then reserved part by part.
    func dropEstimate(of number: UInt64) {
        estimated.remove(number)
        noteHeld()
    }

    /// Reserves memory for a list or a part of a list; returns false if there is not enough memory.
    func reserve(_ bytes: Int, for number: UInt64, isFurther: Bool) -> Bool {
        let held = min(bytes * SessionLimits.listBytesHeld, SessionLimits.heldBytesMax / 2)
        guard isFurther || hasMemory(for: held, isMeasured: true) else { return false }
        estimated.add(held, for: number)
        noteHeld()
        return true
    }

    /// Whether all memory is used and the client's unfinished line exceeds
    /// `SessionLimits.freeBytes`.
    var isLineTooMuch: Bool {
        guard let memory, cutter.keptCount > SessionLimits.freeBytes else { return false }
        return memory.assumeIsolated { $0.isSpent }
    }

    func refuseLine() {
        guard cutter.keptCount > 0 else { return }
        cutter.skip()
        append(.failed(.noMemoryForLine), to: .nothing(readAt: readAt))
        noteHeld()
    }
}

extension Request {
    /// The approximate size of the request in bytes; 0 for a small request.
    var roughBytes: Int {
        guard case .write(let mutation, _, _) = self else { return 0 }
        return mutation.action.roughBytes
    }
}
