import Chat
import Wire

/// Random writes to profiles and action items; the items are few, so that writes collide.
extension World {
    private static let items = (0..<4).map { ItemID(checked: "i\($0)") }

    func own(by user: UserID) -> Mutation {
        guard workRandom.chance(percent: 75) else {
            let text = workRandom.chance(percent: 80) ? FieldText(text()) : nil
            let edit = Profile.Edit(
                name: Clearable(text), email: workRandom.chance(percent: 50) ? nil : Clearable(nil),
                photo: workRandom.chance(percent: 50) ? nil : Clearable(text))
            return Mutation(SetProfile(edit), by: user)
        }
        return Mutation(itemAction(), on: workRandom.pick(World.items), by: user)
    }

    /// Returns a change of whom a user has blocked: of few others, so that changes collide.
    func blockChange(by user: UserID) -> Mutation {
        let other = blockRandom.pick(clients.users.filter { $0 != user })
        let isBlocking = blockRandom.chance(percent: 55)
        let action: any BlocksAction = isBlocking ? BlockUser(other) : UnblockUser(other)
        return Mutation(action, by: user)
    }

    private func itemAction() -> any ItemAction {
        let due = Clearable(
            workRandom.chance(percent: 60)
                ? DueTime(milliseconds: Int64(workRandom.below(5)) - 2) : nil)
        switch workRandom.below(20) {
        case ..<8:
            return AddItem(Item.NewItem(title: text(), due: due.value, priority: .low))
        case ..<13: return EditItem(Item.Edit(title: FieldText(text()), due: due))
        case ..<16: return FinishItem(true)
        case ..<18: return FinishItem(false)
        default: return DeleteItem()
        }
    }
}
