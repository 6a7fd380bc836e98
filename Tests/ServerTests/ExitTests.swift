import Testing

@testable import Server
@testable import Storage

@Suite struct ExitTests {
    private static let statuses: [(StorageError, Int32)] = [
        (.folderInUse, 65), (.newerFormat(9), 65), (.foreignFile, 65), (.notFolder, 65),
        (.corrupt(doing: "reading"), 65), (.full, 70), (.readOnly, 70),
        (.io(code: 10, doing: "reading"), 70),
    ]

    @Test(arguments: statuses)
    func `a folder that is not this node's to use ends it with 65`(
        _ error: StorageError, _ status: Int32
    ) {
        #expect(ExitStatus.of(error) == status)
        #expect(!error.sentence.isEmpty && !error.sentence.contains("\n"))
    }
}
