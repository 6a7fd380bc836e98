import Membership
import Wire

/// The addresses of the members' pages: each node says its own on every new connection.
extension Node {
    /// Where browsers reach the pages of the other members of the ring, ascending by their names.
    package var memberPages: [PageAddresses] { pages.listed }
    /// The number of changes of `memberPages`.
    package var memberPagesVersion: Int { pages.version }

    func loadPages(_ settings: [String: [UInt8]]) throws(WireError) {
        guard let bytes = settings[SettingName.pages] else { return }
        pages = try MemberPages.decode(bytes)
        pages.follow(membership.table)
    }

    func tellPages(on connection: PeerConnection) {
        connection.send(.pages(options.pages))
    }

    func onPages(_ said: PageAddresses, of member: NodeName) {
        guard pages.insert(said, of: member, in: membership.table), cluster != nil else { return }
        settingsToKeep.append(Setting(name: SettingName.pages, value: pages.encoded))
    }
}
