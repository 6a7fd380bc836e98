import CRDT
import Wire

extension Message {
    /// A user's send under a message's id, with its edits, its pin and its deletion for everyone.
    struct Send: Hashable, Sendable {
        var header: Header
        /// The edits, in ascending order; the last edit is shown, and all edits form the history.
        var versions: [Version] = []
        /// The edits of losing sends, ascending; each pair of an edit and a send occurs once.
        var orphanedEdits: [OrphanedEdit] = []
        var pin: Register<Pin>?
        /// The time of the deletion for everyone; it is never unset, and of two times the earlier
        /// wins.
        var retractedAt: HybridTimestamp?

        init(header: Header) { self.header = header }

        var isRetracted: Bool { retractedAt != nil }

        var greatestTime: HybridTimestamp {
            var greatest = max(header.sent.time, pin?.stamp.time ?? .zero)
            if let edit = versions.last { greatest = max(greatest, edit.stamp.time) }
            if let orphan = orphanedEdits.last {
                greatest = max(greatest, orphan.version.stamp.time)
            }
            return max(greatest, retractedAt ?? .zero)
        }

        /// The total size of the texts of the send and its edits, in bytes.
        var textBytes: Int {
            versions.reduce(header.text.utf8.count) { $0 + $1.text.utf8.count }
                + orphanedEdits.reduce(0) { $0 + $1.version.text.utf8.count }
        }

        mutating func edit(_ version: Version) {
            versions.append(version)
            versions.sort()
        }

        mutating func setPin(_ pin: Pin, at stamp: Stamp) {
            guard !isRetracted else { return }
            self.pin.merge(Register(pin, at: stamp))
        }

        mutating func retract(at time: HybridTimestamp) {
            retractedAt = min(retractedAt ?? time, time)
            normalize()
        }

        /// Merges another send of the same user under the same message id.
        mutating func merge(_ other: Send) {
            mergeVersions(other)
            header = min(header, other.header)
            pin.merge(other.pin)
            retractedAt = [retractedAt, other.retractedAt].compactMap(\.self).min()
            normalize()
        }

        /// Merges the edits of two sends; each pair of an edit and a send is kept once.
        ///
        /// The same edit can occur twice: if an owner does not answer a forwarded request, the next
        /// owner executes the same operation. Each side of a network partition may accept
        /// `ChatLimits.editsMax` edits; of more than `editsKeptMax`, the oldest edits are dropped,
        /// so that the document always fits in a frame. Keeping the greatest edits of a union is a
        /// join. The winning header determines which edits are shown.
        private mutating func mergeVersions(_ other: Send) {
            let isSame = header == other.header
            guard !isSame || versions != other.versions || orphanedEdits != other.orphanedEdits
            else { return }
            let sending = min(header, other.header).sending
            let all = Send.joined(allVersions + other.allVersions)
            versions = all.filter { $0.sending == sending }.map(\.version)
            orphanedEdits = all.filter { $0.sending != sending }
        }

        private var allVersions: [OrphanedEdit] {
            let sending = header.sending
            return versions.map { OrphanedEdit(sending: sending, version: $0) } + orphanedEdits
        }

        private static func joined(_ edits: [OrphanedEdit]) -> [OrphanedEdit] {
            var joined: [OrphanedEdit] = []
            for edit in edits.sorted() where joined.last.map({ $0 < edit }) ?? true {
                joined.append(edit)
            }
            return joined.suffix(ChatLimits.editsKeptMax)
        }

        /// Removes the text of a send that is kept beside an earlier send of another user.
        ///
        /// The edits are kept, since an earlier send of the same user and text may still arrive.
        mutating func supersede() {
            orphanedEdits = Send.joined(allVersions)
            versions = []
            header.text = ""
        }

        /// Whether the text and the shown edits are removed, as `supersede` does.
        var isSuperseded: Bool { versions.isEmpty && header.text.isEmpty }

        /// Whether the send is in normal form: a retracted send has no text, no edits and no pin.
        var isNormal: Bool {
            #if PlantedBugs
                if PlantedBug.editRevivesDeleted.isOn || PlantedBug.pinRevivesDeleted.isOn {
                    return true
                }
            #endif
            let isEmpty = versions.isEmpty && orphanedEdits.isEmpty && pin == nil
            return !isRetracted || (header.text.isEmpty && isEmpty)
        }

        private mutating func normalize() {
            guard isRetracted else { return }
            #if PlantedBugs
                if PlantedBug.editRevivesDeleted.isOn, !versions.isEmpty {
                    retractedAt = nil
                    return
                }
                if PlantedBug.pinRevivesDeleted.isOn, pin?.value.by != nil {
                    retractedAt = nil
                    return
                }
            #endif
            header.text = ""
            versions = []
            orphanedEdits = []
            pin = nil
        }
    }
}
