import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct ProfileTests {
    static let key = DocumentKey.profile(People.alice)

    private static func field(_ random: inout SplitMix64) -> Profile.Text? {
        guard random.chance(50) else { return nil }
        return Profile.Text(random.pick(["", "x", "cafe\u{301}", "caf\u{E9}"]).nonEmpty)
    }

    private static let laws = DocumentTests.laws(of: key) { document, writer, random in
        let edit = Profile.Edit(
            name: field(&random), email: field(&random), photo: field(&random))
        let author = writer.nextAuthorship()
        return Mutation(SetProfile(edit), by: People.alice).applied(to: document, by: author)
    }

    @Test func `a profile merges as a join, any order gives the same bytes`() throws {
        try ProfileTests.laws.check(seeds: 0..<500)
    }

    @Test func `each field is the last writer's, and the first time of creation stays`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 2_000_000))
        let first = one.apply(Profile.Edit(name: "Al"), to: nil)
        let second = other.apply(Profile.Edit(name: "Alice", email: "a@x"), to: nil)
        let third = one.apply(Profile.Edit(photo: "p"), to: first)
        for merged in [third.merged(with: second), second.merged(with: third)] {
            let view = try #require(merged.profile?.view(of: People.alice))
            #expect(view.name == "Alice" && view.email == "a@x" && view.photo == "p")
            #expect(view.createdAt == first.profile?.created.time)
        }
        let cleared = other.apply(Profile.Edit(email: ""), to: second)
        #expect(cleared.profile?.email == nil)
        #expect(cleared.profile?.name == "Alice")
    }

    @Test func `what is set already is no change`() throws {
        var author = Author(1)
        let set = author.apply(Profile.Edit(name: "Al"), to: nil)
        let judge = Judge(wallMilliseconds: 0, editWindowMilliseconds: 0)
        func isChange(_ edit: Profile.Edit, of target: Document?) throws -> Bool {
            try Mutation(SetProfile(edit), by: People.alice)
                .judge(conversation: nil, target: target, by: judge)
        }
        #expect(try isChange(Profile.Edit(name: ""), of: nil))
        #expect(try !isChange(Profile.Edit(name: "Al", email: ""), of: set))
        #expect(try isChange(Profile.Edit(name: "al"), of: set))
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try ProfileTests.laws.golden("profile") == nil)
    }
}

extension Profile.Edit {
    init(name: String? = nil, email: String? = nil, photo: String? = nil) {
        self.init(
            name: name.map { Profile.Text($0.nonEmpty) },
            email: email.map { Profile.Text($0.nonEmpty) },
            photo: photo.map { Profile.Text($0.nonEmpty) })
    }
}

extension String {
    var nonEmpty: FieldText? { isEmpty ? nil : FieldText(self) }
}

extension Author {
    mutating func apply(_ edit: Profile.Edit, to target: Document?) -> Document {
        apply(Mutation(SetProfile(edit), by: People.alice), to: target)
    }

    /// Returns the document after the mutation, which is not judged.
    mutating func apply(_ mutation: Mutation, to target: Document?) -> Document {
        if let target { writer.observe(target.greatestTime) }
        let author = writer.nextAuthorship()
        return mutation.applied(to: target, by: author)
    }
}
