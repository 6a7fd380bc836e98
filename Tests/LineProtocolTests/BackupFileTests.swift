import Testing

@testable import LineProtocol

@Suite struct BackupFileTests {
    @Test(arguments: [
        "friday", "friday.sqlite", "n1@2026-11-21", "/a.db", "/mnt/x/y.sqlite", "/mnt//y.bak",
        "/mnt/Ä.backup",
    ])
    func `a name, or an absolute path that says what it is`(file: String) {
        #expect(BackupFile.isAllowed(file))
    }

    @Test(arguments: [
        "", ".", "..", ".hidden", "a/b", "../x.sqlite", "a b.sqlite", "/", "/etc/cron.d/job",
        "/root/.ssh/authorized_keys", "/home/a/.profile", "/mnt/.sqlite", "/mnt/../etc/x.sqlite",
        "/mnt/./x.sqlite", "/mnt/x.sqlite/", "/mnt/x\n.sqlite", "/mnt/\u{0}.sqlite",
        "grapevine.sqlite", "/mnt/n2/grapevine.sqlite",
        "/" + String(repeating: "x", count: 1_024) + ".sqlite", String(repeating: "x", count: 65),
    ])
    func `nothing that another program would take for its own`(file: String) {
        #expect(!BackupFile.isAllowed(file))
    }
}
