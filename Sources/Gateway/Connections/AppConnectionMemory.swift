import HTTP
import Node
import Session

extension AppConnection {
    /// Reports to `ClientMemory` how many bytes of memory this connection uses in addition to those
    /// of its session.
    func noteHeld() {
        guard let memory else { return }
        var held = backlog.count + (request?.body.count ?? 0)
        held += upload?.heldBytes ?? 0
        // While parts of an upload are being stored, the node waits for the disk, not the client.
        var isItsTurn = request != nil && !(upload?.isFull ?? false)
        let queued = output.queuedBytes
        switch phase {
        case .reading:
            held += queued
            isItsTurn = isItsTurn || queued > 0
        case .awaiting(let awaited): held += awaited.heldBytes + queued
        case .storing, .downloading: held += queued
        case .answering(let exchange): held += exchange.heldBytes + queued
        case .responding(let remainder):
            held += remainder.pieces.byteCount + queued
            isItsTurn = true
        case .socket(let socket):
            held += socket.heldBytes
            isItsTurn = socket.reader.heldBytes > 0
        case .events: break
        case .closing:
            held += queued
            isItsTurn = true
        }
        // `ClientMemory` does not count small amounts.
        guard max(held, notedBytes) > SessionLimits.freeBytes else { return }
        notedBytes = held
        let taken = written - min(written, UInt64(queued)) + UInt64(upload?.size ?? 0)
        let now = clock.milliseconds
        let source = signedIn.map { TurnSource.user($0.access.user) } ?? .session(id)
        memory.assumeIsolated { [id, held, isItsTurn] in
            $0.recordHeld(
                id, of: source, holds: held, sharing: 0, isItsTurn: isItsTurn, taken: taken,
                now: now)
        }
    }

    /// Refuses an incomplete request if the memory budget of all connections is used up.
    func refuseIfSpent() {
        guard notedBytes > SessionLimits.freeBytes,
            memory?.assumeIsolated({ $0.isSpent }) ?? false
        else { return }
        let reason = "Too much waits on all connections for a request this long; send it again"
        switch phase {
        case .reading where request != nil: fail(HTTPError(.unavailable, reason))
        case .socket(let socket) where socket.reader.heldBytes > SessionLimits.freeBytes:
            closeSocket(.tryAgainLater, reason)
        case .reading, .socket, .answering, .responding, .awaiting, .storing, .downloading, .events,
            .closing:
            break
        }
    }
}
