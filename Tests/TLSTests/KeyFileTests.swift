import Foundation
import Glibc
import Testing

@testable import TLS

@Suite struct KeyFileTests {
    private let one = "4fbca07d1f83ee5b1bd42d7a90e7c1a2463a2b0f55c98e6d7f20b1a48c3d9e61"
    private let two = "9d1e6a03c7f8254bb02d7e914ca5f638"

    /// Returns `count` characters such as `openssl rand -hex` prints.
    private func random(_ count: Int) -> String {
        var state: UInt64 = 7
        let digits = (0..<count).map { _ -> Character in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Array("0123456789abcdef")[Int(state >> 60)]
        }
        return String(digits)
    }

    private func parse(_ text: String) throws(KeyFileError) -> [String] {
        try KeyFile.parse([UInt8](text.utf8)).keys.map(\.text)
    }

    @Test func `a line is a key, and what is empty or a comment means nothing`() throws {
        #expect(try parse(one) == [one])
        #expect(try parse("# ours\n\n\(one)\n") == [one])
        #expect(try parse("\(one)\r\n# the next\r\n\(two)\r\n") == [one, two])
        #expect(try parse("\n\(two)\n\n#\n\(one)\n\n") == [two, one])
    }

    @Test func `a key has from 32 to 256 characters`() throws {
        for count in [32, 256] {
            let key = random(count)
            #expect(try parse(key) == [key])
        }
        #expect(throws: KeyFileError.badKey(line: 1, .short(31))) {
            try parse(random(31))
        }
        #expect(throws: KeyFileError.badKey(line: 3, .long(257))) {
            try parse("#\n\(one)\n" + random(257))
        }
    }

    @Test(arguments: [" ", "\t", "é", "\u{7f}", "\0", "\u{feff}"])
    func `what cannot be typed behind AUTH is no part of a key`(_ character: String) {
        #expect(throws: KeyFileError.badKey(line: 2, .unprintable)) {
            try parse("#\n" + random(40) + character + "k")
        }
        #expect(throws: KeyFileError.badKey(line: 1, .unprintable)) {
            try KeyFile.parse([UInt8](repeating: 0x6b, count: 40) + [0xff, 0xfe])
        }
    }

    @Test func `a key that would be read as an option is refused`() throws {
        #expect(throws: KeyFileError.badKey(line: 1, .looksLikeOption)) {
            try parse("password=" + one)
        }
        let fine = ["=" + one, one + "=", "Password=" + one, "pass_word=" + one]
        for key in fine { #expect(try parse(key) == [key]) }
    }

    @Test(arguments: [
        String(repeating: "0", count: 64), String(repeating: "ab", count: 32),
        String(repeating: "passwort", count: 4), "0123456789abcdef0123456789abcdef",
        "abcdefghijklmnopqrstuvwxyzabcdefgh", "zyxwvutsrqponmlkjihgfedcba9876543210",
        String(repeating: "1234567", count: 8), String(repeating: "deadbeefcafe0001", count: 4),
        "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeeeffffffff0000000011111111",
        "1111111111111111111111111111111a",
    ])
    func `a key that no random source made is refused`(_ key: String) {
        #expect(throws: KeyFileError.badKey(line: 1, .guessable)) { try parse(key) }
        #expect(throws: KeyFileError.badKey(line: 2, .guessable)) { try parse("\(one)\n\(key)") }
    }

    @Test func `a random key is never taken for one that can be guessed`() {
        for _ in 0..<1_000 {
            let hexadecimal = (0..<16).map { _ in
                String(UInt8.random(in: 0x10...0xff), radix: 16)
            }
            #expect(!Key.isGuessable([UInt8](hexadecimal.joined().utf8)))
        }
    }

    @Test func `there is one key, or two`() throws {
        #expect(throws: KeyFileError.empty) { try parse("") }
        #expect(throws: KeyFileError.empty) { try parse("# \(one)\n\n") }
        #expect(throws: KeyFileError.tooManyKeys(3)) { try parse("\(one)\n\(two)\n\(one)\n") }
    }

    @Test func `a file is at most 4 KiB`() throws {
        let comment = "#" + String(repeating: "x", count: KeyFile.bytesMax - one.count - 2) + "\n"
        #expect(try parse(comment + one) == [one])
        #expect(throws: KeyFileError.tooLong) { try parse(comment + one + "\n") }
    }

    @Test func `nothing that is printed of a key is the secret`() throws {
        let key = try #require(Key(one))
        let ring = KeyRing(key, Key(two))
        for text in ["\(key)", "\(ring)", String(reflecting: ring), "\(Optional(key) as Any)"] {
            #expect(!text.contains("4fbc") && !text.contains("9d1e"), "\(text)")
        }
        var dumped = ""
        dump(ring, to: &dumped)
        #expect(!dumped.contains("4fbc"))
    }

    @Test func `a ring knows its keys, whole and alone`() throws {
        let first = try #require(Key(one))
        let ring = KeyRing(first, Key(two))
        #expect(ring.key(saidBy: one) == first)
        #expect(ring.key(saidBy: two) == Key(two))
        for said in ["", "1", String(one.dropLast()), one + "1", String(two.dropLast()) + "3"] {
            #expect(ring.key(saidBy: said) == nil)
        }
        #expect(KeyRing(first).key(saidBy: two) == nil)
    }
}

/// The file itself, and the permissions to read it.
@Suite struct KeyFileAccessTests {
    private let secret = "4fbca07d1f83ee5b1bd42d7a90e7c1a2463a2b0f55c98e6d7f20b1a48c3d9e61"

    private func withFile<Answer>(_ body: (String) throws -> Answer) throws -> Answer {
        let path = FileManager.default.temporaryDirectory.path + "/key-\(UUID())"
        try Data((secret + "\n").utf8).write(to: URL(filePath: path))
        defer { unlink(path) }
        return try body(path)
    }

    @Test(arguments: [0o600, 0o400] as [mode_t])
    func `its owner may read it`(_ mode: mode_t) throws {
        try withFile { path in
            chmod(path, mode)
            let ring = try KeyFile.read(path)
            #expect(ring.keys.map(\.text) == [secret])
        }
    }

    @Test(arguments: [0o440, 0o640, 0o660, 0o620, 0o610, 0o644, 0o604, 0o602, 0o666] as [mode_t])
    func `a file that others may read or change is refused, the group too`(_ mode: mode_t) throws {
        try withFile { path in
            chmod(path, mode)
            #expect(throws: KeyFileError.open) { try KeyFile.read(path) }
        }
        #expect(KeyFileError.open.sentence(of: "k").hasSuffix(": chmod 600 k"))
    }

    @Test func `what is missing, or no file, is said to be that`() throws {
        #expect(throws: KeyFileError.unreadable(ENOENT)) { try KeyFile.read("/nowhere/key") }
        #expect(throws: KeyFileError.notAFile) { try KeyFile.read("/") }
        let pipe = FileManager.default.temporaryDirectory.path + "/pipe-\(UUID())"
        mkfifo(pipe, 0o600)
        defer { unlink(pipe) }
        #expect(throws: KeyFileError.notAFile) { try KeyFile.read(pipe) }
    }

    @Test func `every fault is one sentence that names the file`() {
        let errors: [KeyFileError] = [
            .unreadable(ENOENT), .unreadable(EACCES), .notAFile, .open, .tooLong, .empty,
            .tooManyKeys(3), .badKey(line: 1, .short(3)), .badKey(line: 1, .long(300)),
            .badKey(line: 1, .unprintable), .badKey(line: 1, .looksLikeOption),
        ]
        for error in errors {
            let sentence = error.sentence(of: "cluster.key")
            #expect(sentence.hasPrefix("--key-file cluster.key "))
            #expect(!sentence.contains("\n"))
        }
        #expect(errors[0].sentence(of: "k").contains("openssl rand -hex 32"))
    }
}
