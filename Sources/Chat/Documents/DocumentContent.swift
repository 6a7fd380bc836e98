/// What a document of one kind says.
public protocol DocumentContent: Sendable {
    /// The kind of the documents with such content.
    static var kind: DocumentKey.Kind { get }

    /// Takes the content of a document; nil where the document is of another kind, or of a version
    /// that cannot be read.
    init?(of document: Document)

    /// The content as that of a document of any kind.
    var wrapped: Document.Content { get }
}

extension Conversation: DocumentContent {
    public static var kind: DocumentKey.Kind { .conversation }
    public var wrapped: Document.Content { .conversation(self) }

    public init?(of document: Document) {
        guard let content = document.conversation else { return nil }
        self = content
    }
}

extension Message: DocumentContent {
    public static var kind: DocumentKey.Kind { .message }
    public var wrapped: Document.Content { .message(self) }

    public init?(of document: Document) {
        guard let content = document.message else { return nil }
        self = content
    }
}

extension ParticipantState: DocumentContent {
    public static var kind: DocumentKey.Kind { .participantState }
    public var wrapped: Document.Content { .participantState(self) }

    public init?(of document: Document) {
        guard let content = document.participantState else { return nil }
        self = content
    }
}

extension Profile: DocumentContent {
    public static var kind: DocumentKey.Kind { .profile }
    public var wrapped: Document.Content { .profile(self) }

    public init?(of document: Document) {
        guard let content = document.profile else { return nil }
        self = content
    }
}

extension Item: DocumentContent {
    public static var kind: DocumentKey.Kind { .item }
    public var wrapped: Document.Content { .item(self) }

    public init?(of document: Document) {
        guard let content = document.item else { return nil }
        self = content
    }
}

extension Device: DocumentContent {
    public static var kind: DocumentKey.Kind { .device }
    public var wrapped: Document.Content { .device(self) }

    public init?(of document: Document) {
        guard let content = document.device else { return nil }
        self = content
    }
}

extension Credentials: DocumentContent {
    public static var kind: DocumentKey.Kind { .credentials }
    public var wrapped: Document.Content { .credentials(self) }

    public init?(of document: Document) {
        guard let content = document.credentials else { return nil }
        self = content
    }
}

extension Signing: DocumentContent {
    public static var kind: DocumentKey.Kind { .signing }
    public var wrapped: Document.Content { .signing(self) }

    public init?(of document: Document) {
        guard let content = document.signing else { return nil }
        self = content
    }
}

extension File: DocumentContent {
    public static var kind: DocumentKey.Kind { .file }
    public var wrapped: Document.Content { .file(self) }

    public init?(of document: Document) {
        guard let content = document.file else { return nil }
        self = content
    }
}

extension FilePart: DocumentContent {
    public static var kind: DocumentKey.Kind { .filePart }
    public var wrapped: Document.Content { .part(self) }

    public init?(of document: Document) {
        guard let content = document.part else { return nil }
        self = content
    }
}

extension Blocks: DocumentContent {
    public static var kind: DocumentKey.Kind { .blocks }
    public var wrapped: Document.Content { .blocks(self) }

    public init?(of document: Document) {
        guard let content = document.blocks else { return nil }
        self = content
    }
}
