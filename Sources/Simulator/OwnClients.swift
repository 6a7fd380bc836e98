import Chat
import Wire

/// What people do to their profiles and action items: few items, so that they collide.
extension World {
    private static let items = (0..<4).map { ItemID(checked: "i\($0)") }

    func own(by user: UserID) -> Mutation {
        guard workDice.chance(percent: 75) else {
            let text = workDice.chance(percent: 80) ? FieldText(text()) : nil
            return Mutation(
                Profile.Edit(
                    name: Clearable(text),
                    email: workDice.chance(percent: 50) ? nil : Clearable(nil),
                    photo: workDice.chance(percent: 50) ? nil : Clearable(text)), by: user)
        }
        return Mutation(itemAction(), on: workDice.pick(World.items), by: user)
    }

    private func itemAction() -> Mutation.Action {
        let due = Clearable(
            workDice.chance(percent: 60)
                ? DueTime(milliseconds: Int64(workDice.below(5)) - 2) : nil)
        switch workDice.below(20) {
        case ..<8: return .addItem(Item.Draft(title: text(), due: due.value, priority: .low))
        case ..<13: return .editItem(Item.Edit(title: FieldText(text()), due: due))
        case ..<16: return .finishItem(true)
        case ..<18: return .finishItem(false)
        default: return .deleteItem
        }
    }
}
