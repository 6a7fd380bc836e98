import Membership
import StorePort
import Wire

/// The addresses of the members' pages: each node sends its own addresses on every new connection.
extension Node {
    /// The page addresses of the other members of the ring, ascending by the members' names.
    package var memberPages: [PageAddresses] { pages.listed }
    /// The page addresses of all other members, including those that have left: browsers may still
    /// show pages that came from them.
    package var knownPages: [PageAddresses] { pages.all }
    /// The number of changes of `memberPages` and `knownPages`.
    package var memberPagesVersion: Int { pages.version }

    /// Loads the stored addresses; if there are none, the members send them again.
    func loadPages(_ settings: [String: [UInt8]]) {
        guard let bytes = settings[SettingName.pages] else { return }
        do throws(WireError) {
            pages = try MemberPages.decode(bytes)
        } catch {
            ports.host.log(.warn, "the stored addresses of pages cannot be read: \(error)")
        }
        followPages()
    }

    /// Applies a change of the member table.
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
