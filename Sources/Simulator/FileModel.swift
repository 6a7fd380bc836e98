import CRDT
import Chat
import Wire

/// The expected content of files and their parts, derived from the changes that they name.
extension Model {
    func check(_ file: File) throws(Violation) {
        var (begun, ended): (Ledger.Entry?, Ledger.Entry?)
        var attached: (stamp: Stamp, message: MessageID)?
        var closed: [HybridTimestamp] = []
        var isPurged = false
        for entry in entries.sorted(by: { $0.operation < $1.operation }) {
            guard case .file(_, let action) = entry.mutation.action else { continue }
            switch action {
            case .begin: begun = begun ?? entry
            case .end: ended = entry
            case .attach(let message): attached = attached ?? (entry.operation, message)
            case .close:
                closed.append(entry.operation.time)
                // It was closed before it had arrived.
                if !entries.contains(where: entry.knew) { begun = begun ?? entry }
            case .purge:
                closed.append(entry.operation.time)
                isPurged = true
            }
        }
        guard let begun else { throw violation(.claims, "was never begun") }
        var type = ""
        if case .file(_, .begin(let first)) = begun.mutation.action { type = first.text }
        guard file.closedAt == closed.min(), file.isPurged == isPurged else {
            throw violation(.deleted, "is closed: \(file.isClosed), purged: \(file.isPurged)")
        }
        var size: UInt64?
        if case .file(_, .end(let last))? = ended?.mutation.action { size = last }
        guard file.created == begun.operation, file.owner == begun.mutation.user,
            file.type == (isPurged ? "" : type), file.size == size,
            file.message == attached?.message
        else { throw violation(.claims, "says \(file)") }
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
        guard isPurged || part.bytes == puts.first else {
            throw violation(.claims, "has other bytes than were put first")
        }
    }
}
