import Membership
import StorePort
import Wire

/// The addresses of the members' pages: each node says its own on every new connection.
extension Node {
    /// Where browsers reach the pages of the other members of the ring, ascending by their names.
    package var memberPages: [PageAddresses] { pages.listed }
    /// The same for all other members, those that have left, too: pages that came from them may be
    /// open still.
    package var knownPages: [PageAddresses] { pages.all }
    /// The number of changes of the two.
    package var memberPagesVersion: Int { pages.version }

    /// Reads what is stored; without it the members say it again.
    func loadPages(_ settings: [String: [UInt8]]) {
        guard let bytes = settings[SettingName.pages] else { return }
        do throws(WireError) {
            pages = try MemberPages.decode(bytes)
        } catch {
            ports.host.log(.warn, "the stored addresses of pages cannot be read: \(error)")
        }
        followPages()
    }

    /// Takes over a change of the member table.
    func followPages() {
        if pages.follow(membership.table) { keepPages() }
    }

    private func keepPages() {
        guard cluster != nil else { return }
        settingsToKeep.append(Setting(name: SettingName.pages, value: pages.encoded))
    }

    func tellPages(on connection: PeerConnection) {
        connection.send(.pages(options.pages))
    }

    func onPages(_ said: PageAddresses, of member: NodeName) {
        if pages.insert(said, of: member, in: membership.table) { keepPages() }
    }
}
