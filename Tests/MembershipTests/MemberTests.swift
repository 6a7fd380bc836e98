import Membership
import Testing
import Wire

struct MemberTests {
}
