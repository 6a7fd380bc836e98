/// Returns the names at the top of the repository that do not belong there; the list is short, so
/// that a newcomer sees the whole of it at once.
func strangersAtTheTop(_ names: [String]) -> [Offence] {
    let known = words("Package.swift Sources Tests cluster Dockerfile README.md")
    return names.filter { !known.contains($0) && !$0.hasPrefix(".") }.map {
        Offence($0, "does not belong at the top level: find it a room, or hide it from git")
    }
}
