import Chat
import Testing
import Wire

@testable import LineProtocol

struct OwnRequestTests {
    private func added(_ line: String) -> Request.ActionAdd? {
        guard case .success(.actionAdd(let add)) = parsed(line) else { return nil }
        return add
    }

    @Test func `an action item has options and a title`() {
        let add = added(
            "Action add alice id=i chat=c message=m due=1970-01-01T00:00:01Z priority=low a=b"
        )
        #expect(add == nil)
        let plain = added("ACTION ADD alice due=\"\" priority= -- a=b  c")
        #expect(plain?.newItem == Item.NewItem(title: "a=b  c"))
        let full = added(
            "ACTION ADD alice id=i chat=c message=m due=1970-01-01T01:00:01+01:00 priority=low x")
        #expect(full?.item?.text == "i")
        #expect(full?.newItem.due == DueTime(milliseconds: 1_000))
        #expect(full?.newItem.priority == .low)
        #expect(full?.newItem.chat?.text == "c" && full?.newItem.message?.text == "m")
    }

    @Test func `a title is neither empty nor too long`() {
        #expect(refused("ACTION ADD alice")?.code == 400)
        #expect(refused("ACTION ADD alice  \u{3000}") == .titleEmpty)
        #expect(refused("ACTION EDIT alice i title=") == .titleEmpty)
        let long = String(repeating: "x", count: LineLimits.fieldBytesMax + 1)
        #expect(refused("ACTION ADD alice \(long)")?.code == 413)
        #expect(refused("ACTION EDIT alice i title=\(long)")?.code == 413)
        #expect(refused("PROFILE alice name=\(long)")?.code == 413)
        #expect(refused("ACTION ADD alice \(long.dropLast())") == nil)
    }

    @Test func `what is named is edited, and an empty value clears`() throws {
        guard
            case .success(.actionEdit(let edit)) = parsed("ACTION EDIT alice i due= priority=high")
        else { throw LineError.titleEmpty }
        #expect(edit.edit == Item.Edit(due: Clearable(nil), priority: Clearable(.high)))
        #expect(refused("ACTION EDIT alice i due=tomorrow")?.code == 400)
        #expect(refused("ACTION EDIT alice i priority=urgent")?.code == 400)
        #expect(refused("ACTION DONE alice")?.code == 400)
    }

    @Test func `a profile without fields is only shown`() throws {
        guard case .success(.profile(let shown)) = parsed("PROFILE alice"),
            case .success(.profile(let set)) = parsed("PROFILE alice name=\"A B\" photo=")
        else { throw LineError.titleEmpty }
        #expect(shown.isShown && !set.isShown)
        #expect(set.name == "A B" && set.email == nil && set.photo == "")
        #expect(refused("PROFILE")?.code == 400)
        #expect(refused("PROFILE alice email=a email=b")?.code == 400)
    }
}
