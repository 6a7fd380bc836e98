import Chat
import LineProtocol
import Node
import Wire

extension Admin {
    /// Returns the mutation of a profile or an action item that a request asks for; nil for others.
    ///
    /// - Parameter node: creates the ids that the request leaves to it.
    func own(of request: Request, mintedBy node: isolated Node) -> Mutation? {
        switch request {
        case .profile(let it): Mutation(it.edit, by: it.user)
        case .actionAdd(let it):
            Mutation(.add(it.newItem), on: it.item ?? node.mintItemID(), by: it.user)
        case .actionEdit(let it): Mutation(.edit(it.edit), on: it.item, by: it.user)
        case .actionDone(let it): Mutation(.finish(true), on: it.item, by: it.user)
        case .actionUndone(let it): Mutation(.finish(false), on: it.item, by: it.user)
        case .actionDelete(let it): Mutation(.delete, on: it.item, by: it.user)
        default: nil
        }
    }
}

extension Request.Profile {
    /// The fields to set; an empty text clears its field.
    var edit: Chat.Profile.Edit {
        Chat.Profile.Edit(name: field(name), email: field(email), photo: field(photo))
    }

    private func field(_ text: String?) -> Chat.Profile.Text? {
        text.map { Clearable($0.isEmpty ? nil : FieldText($0)) }
    }
}
