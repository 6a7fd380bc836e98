import CRDT
import Wire

/// A user's change of their profile.
///
/// Each action is a type, with its entry in `Profile.actions`.
public protocol ProfileAction: DocumentAction where Content == Profile {
    var edit: Profile.Edit { get }

    init(_ edit: Profile.Edit)
}

extension Profile {
    static let actions: [any DocumentAction.Type] = [SetProfile.self, SeedProfile.self]
}

extension Mutation {
    public convenience init(_ action: some ProfileAction, by user: UserID) {
        self.init(action, at: .profile(user), by: user)
    }
}

extension ProfileAction {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        self.init(try Profile.Edit(from: &reader))
    }

    public func encodeRest(into writer: inout ByteWriter) { edit.encode(into: &writer) }

    public func applied(
        to content: Profile?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Profile {
        var profile = content ?? Profile(created: author.stamp)
        profile.set(edit, at: author.stamp)
        return profile
    }

    public func isRecorded(over content: Profile, after time: HybridTimestamp) -> Bool {
        overwritesSomeEarly(in: content, time)
    }

    public func nameBytes(by user: UserID) -> Int { roughBytes }
    public var roughBytes: Int { 3 * ChatLimits.titleBytesMax }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(user.text)
    }
}

/// An action that sets fields of a profile.
public struct SetProfile: ProfileAction {
    public static let codes: [ActionCode] = [15]

    public let edit: Profile.Edit

    public init(_ edit: Profile.Edit) { self.edit = edit }

    public func judge(
        _ profile: Profile?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        profile?.isChanged(by: edit) ?? true
    }

    public func stampsOverwritten(in content: Profile) -> [Stamp?]? { content.stamps(of: edit) }

    public func isAppliedLate(_ operation: Stamp, to content: Profile) -> Bool {
        overwritesSomeEarly(in: content, operation.time)
    }
}

/// An action that sets the profile where there is none: sample data.
public struct SeedProfile: ProfileAction {
    public static let codes: [ActionCode] = [22]

    public let edit: Profile.Edit

    public init(_ edit: Profile.Edit) { self.edit = edit }

    public func judge(
        _ profile: Profile?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        profile == nil
    }
}
