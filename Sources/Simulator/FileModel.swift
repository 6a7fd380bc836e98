import CRDT
import Chat
import Wire

/// The expected content of files and their parts, derived from the changes that they name.
extension Model {
    func check(_ file: File) throws(Violation) {
        var attached: (stamp: Stamp, message: MessageID)?
        var closed: [HybridTimestamp] = []
        var isPurged = false
        for entry in entries.sorted(by: { $0.operation < $1.operation }) {
            guard case .file(_, let action) = entry.mutation.action else { continue }
            switch action {
            case .begin, .end: break
            case .attach(let message): attached = attached ?? (entry.operation, message)
            case .close: closed.append(entry.operation.time)
            case .purge:
                closed.append(entry.operation.time)
                isPurged = true
            }
        }
        guard let upload = upload(of: entries) else { throw violation(.claims, "was never begun") }
        guard file.closedAt == closed.min(), file.isPurged == isPurged else {
            throw violation(.deleted, "is closed: \(file.isClosed), purged: \(file.isPurged)")
        }
        let (size, parts) =
            isPurged
            ? (upload.size.map { _ in 0 }, upload.parts.map { _ in [] })
            : (upload.size, upload.parts)
        guard file.created == upload.begun, file.owner == upload.owner,
            file.type == (isPurged ? "" : upload.type), file.size == size, file.parts == parts,
            file.message == attached?.message
        else { throw violation(.claims, "says \(file)") }
    }

    /// An upload as one client began and ended it.
    private struct ClientUpload {
        let begun: Stamp
        let owner: UserID
        let type: String
        var ended: Stamp?
        var size: UInt64?
        var parts: [PartID]?

        var rank: (Int, Stamp, Stamp) { (ended == nil ? 1 : 0, begun, ended ?? begun) }
    }

    /// The upload that counts after these changes: the earliest of those that have ended, if any.
    ///
    /// An end belongs to the upload that counted where it was executed.
    private func upload(of entries: [Ledger.Entry]) -> ClientUpload? {
        entries.compactMap { entry -> ClientUpload? in
            guard case .file(_, let action) = entry.mutation.action else { return nil }
            let known = entries.filter(entry.knew)
            let unknown = ClientUpload(begun: entry.operation, owner: entry.mutation.user, type: "")
            switch action {
            case .begin(let type):
                return ClientUpload(
                    begun: entry.operation, owner: entry.mutation.user, type: type.text)
            case .end(let size, let parts):
                var upload = upload(of: known) ?? unknown
                (upload.ended, upload.size, upload.parts) = (entry.operation, size, parts)
                return upload
            // It was closed before it had arrived.
            case .close: return known.isEmpty ? unknown : nil
            case .attach, .purge: return nil
            }
        }.min { $0.rank < $1.rank }
    }

    func check(_ part: FilePart) throws(Violation) {
        let puts = entries.sorted { $0.operation < $1.operation }.compactMap { entry in
            if case .part(_, _, .put(let bytes)) = entry.mutation.action { bytes } else { nil }
        }
        let isPurged = entries.contains { entry in
            if case .part(_, _, .purge) = entry.mutation.action { true } else { false }
        }
        guard part.isPurged == isPurged, !isPurged || part.bytes.isEmpty else {
            throw violation(.deleted, "is purged: \(part.isPurged), with \(part.bytes.count) bytes")
        }
        guard isPurged || puts.allSatisfy({ $0 == part.bytes }) else {
            throw violation(.claims, "has other bytes than were put")
        }
    }
}
