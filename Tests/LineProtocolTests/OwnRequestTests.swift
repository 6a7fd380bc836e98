import Chat
import Testing
import Wire

@testable import LineProtocol

struct OwnRequestTests {
    private let alice = UserID(checked: "alice")

    private func added(_ line: String) -> Item.NewItem? {
        (change(line)?.action as? AddItem)?.item
    }

    @Test func `an action item has options and a title`() {
        let add = added(
            "Action add alice id=i chat=c message=m due=1970-01-01T00:00:01Z priority=low a=b"
        )
        #expect(add == nil)
        let plain = added("ACTION ADD alice due=\"\" priority= -- a=b  c")
        #expect(plain == Item.NewItem(title: "a=b  c"))
        #expect(
            parsed("ACTION ADD alice x")
                == .success(
                    .write(
                        Mutation(
                            AddItem(Item.NewItem(title: "x")), on: ItemID(checked: "new"), by: alice
                        ),
                        isMinted: true)))
        let line =
            "ACTION ADD alice id=i chat=c message=m due=1970-01-01T01:00:01+01:00 priority=low x"
        let full = added(line)
        #expect(change(line)?.key == .item(ItemID(checked: "i"), of: alice))
        #expect(full?.due == DueTime(milliseconds: 1_000))
        #expect(full?.priority == .low)
        #expect(full?.chat?.text == "c" && full?.message?.text == "m")
    }

    @Test func `a title is neither empty nor too long`() {
        #expect(refused("ACTION ADD alice")?.code == 400)
        #expect(refused("ACTION ADD alice  \u{3000}") == .titleEmpty)
        #expect(refused("ACTION EDIT alice i title=")?.code == 400)
        #expect(refused("ACTION EDIT alice i title=\" \"") == .titleEmpty)
        let long = String(repeating: "x", count: LineLimits.fieldBytesMax + 1)
        #expect(refused("ACTION ADD alice \(long)")?.code == 413)
        #expect(refused("ACTION EDIT alice i title=\(long)")?.code == 413)
        #expect(refused("PROFILE alice name=\(long)")?.code == 413)
        #expect(refused("ACTION ADD alice \(long.dropLast())") == nil)
    }

    @Test func `what is named is edited, and an empty value clears`() {
        let edit = Item.Edit(due: Clearable(nil), priority: Clearable(.high))
        #expect(
            change("ACTION EDIT alice i due= priority=high")
                == Mutation(EditItem(edit), on: ItemID(checked: "i"), by: alice))
        #expect(refused("ACTION EDIT alice i due=tomorrow")?.code == 400)
        #expect(refused("ACTION EDIT alice i priority=urgent")?.code == 400)
        #expect(refused("ACTION DONE alice")?.code == 400)
    }

    @Test func `a profile without fields is only shown`() {
        #expect(parsed("PROFILE alice") == .success(.read(ProfileQuery(of: alice), of: alice)))
        let edit = Profile.Edit(
            name: Clearable(FieldText("A B")), email: nil, photo: Clearable(nil))
        #expect(
            change("PROFILE alice name=\"A B\" photo=") == Mutation(SetProfile(edit), by: alice))
        #expect(refused("PROFILE")?.code == 400)
        #expect(refused("PROFILE alice email=a email=b")?.code == 400)
    }
}
