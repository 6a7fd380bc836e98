import CRDT
import Wire

/// The data that users publish about themselves; each field is a last-writer-wins register.
public struct Profile: Hashable, Sendable {
    public typealias Text = Clearable<FieldText>

    /// The fields that a mutation of a profile sets; a field that is nil stays unchanged.
    public struct Edit: Hashable, Sendable {
        public let name: Text?
        public let email: Text?
        public let photo: Text?

        public init(name: Text?, email: Text?, photo: Text?) {
            self.name = name
            self.email = email
            self.photo = photo
        }

        /// Whether the edit sets no field.
        public var isEmpty: Bool { name == nil && email == nil && photo == nil }
    }

    /// The stamp of the first write of the profile; of two first writes on two sides of a network
    /// partition, the earlier stamp.
    public private(set) var created: Stamp
    private var nameField: Register<Text>?
    private var emailField: Register<Text>?
    private var photoField: Register<Text>?

    init(created: Stamp) { self.created = created }

    public var name: String? { nameField?.value.value?.text }
    public var email: String? { emailField?.value.value?.text }
    public var photo: String? { photoField?.value.value?.text }

    var greatestTime: HybridTimestamp {
        [nameField, emailField, photoField].reduce(created.time) {
            max($0, $1?.stamp.time ?? .zero)
        }
    }

    var lastChanges: LastChanges {
        LastChanges(nameField?.stamp.time, emailField?.stamp.time, photoField?.stamp.time)
    }

    /// Returns the stamps of the fields that `edit` overwrites.
    func stamps(of edit: Edit) -> [Stamp?] {
        var stamps: [Stamp?] = []
        if edit.name != nil { stamps.append(nameField?.stamp) }
        if edit.email != nil { stamps.append(emailField?.stamp) }
        if edit.photo != nil { stamps.append(photoField?.stamp) }
        return stamps
    }

    /// Whether `edit` would change a field.
    func isChanged(by edit: Edit) -> Bool {
        func differs(_ field: Register<Text>?, _ text: Text?) -> Bool {
            text.map { (field?.value ?? Text(nil)) != $0 } ?? false
        }
        return differs(nameField, edit.name) || differs(emailField, edit.email)
            || differs(photoField, edit.photo)
    }

    mutating func set(_ edit: Edit, at stamp: Stamp) {
        // An operation that is executed late may have an earlier stamp than the first executed one.
        created = min(created, stamp)
        if let name = edit.name { nameField.merge(Register(name, at: stamp)) }
        if let email = edit.email { emailField.merge(Register(email, at: stamp)) }
        if let photo = edit.photo { photoField.merge(Register(photo, at: stamp)) }
    }

    mutating func merge(_ other: Profile) {
        created = min(created, other.created)
        nameField.merge(other.nameField)
        emailField.merge(other.emailField)
        photoField.merge(other.photoField)
    }
}

extension Profile {
    private enum FieldNumber {
        static let created: UInt64 = 1
        static let name: UInt64 = 2
        static let email: UInt64 = 3
        static let photo: UInt64 = 4
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.created, to: created)
        fields.set(FieldNumber.name, to: nameField)
        fields.set(FieldNumber.email, to: emailField)
        fields.set(FieldNumber.photo, to: photoField)
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let created = fields.removeField(FieldNumber.created) else {
            throw .invalid("a time of creation")
        }
        self.init(created: try Stamp.decode(created))
        nameField = try fields.take(FieldNumber.name)
        emailField = try fields.take(FieldNumber.email)
        photoField = try fields.take(FieldNumber.photo)
    }
}

extension Profile.Edit: WireValue {
    public func encode(into writer: inout ByteWriter) {
        for field in [name, email, photo] {
            field.encode(into: &writer)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        name = try Optional(from: &reader)
        email = try Optional(from: &reader)
        photo = try Optional(from: &reader)
    }
}
