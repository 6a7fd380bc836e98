import CRDT
import Wire

extension Profile {
    /// A user's change of their profile.
    public enum Action: Hashable, Sendable {
        case set(Edit)
        /// Sets the profile where there is none: sample data.
        case seed(Edit)
    }
}

extension Profile.Action {
    private var edit: Profile.Edit {
        switch self {
        case .set(let edit), .seed(let edit): edit
        }
    }

    /// Returns whether the action would change anything.
    func judge(_ profile: Profile?) -> Bool {
        guard let profile, case .set(let edit) = self else { return profile == nil }
        return profile.isChanged(by: edit)
    }

    func applied(to content: Profile?, _ author: Authorship) -> Profile {
        var profile = content ?? Profile(created: author.stamp)
        profile.set(edit, at: author.stamp)
        return profile
    }
}

extension Profile.Action: DocumentAction {
    public func stampsOverwritten(in content: Profile) -> [Stamp?]? {
        guard case .set(let edit) = self else { return nil }
        return content.stamps(of: edit)
    }

    public func isRecorded(over content: Profile, after time: HybridTimestamp) -> Bool {
        overwritesSomeEarly(in: content, time)
    }

    public func nameBytes(by user: UserID) -> Int { roughBytes }

    public var roughBytes: Int { 3 * ChatLimits.titleBytesMax }

    public var kind: UInt8 {
        switch self {
        case .set: 15
        case .seed: 22
        }
    }

    public func encodeRest(into writer: inout ByteWriter) { edit.encode(into: &writer) }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        switch kind {
        case 15: self = .set(try Profile.Edit(from: &reader))
        case 22: self = .seed(try Profile.Edit(from: &reader))
        default: return nil
        }
    }
}
