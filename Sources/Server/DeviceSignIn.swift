import CRDT
import Chat
import Gateway
import Wire

extension DeviceSignIn {
    /// Creates the sign-in as devices name it; nil where a token names none.
    init?(_ signIn: SignInName?) {
        guard let signIn, let address = AddressID(signIn.address), let id = SignInID(signIn.id)
        else { return nil }
        self.init(address: address, id: id, began: HybridTimestamp(bits: signIn.stamp))
    }
}
