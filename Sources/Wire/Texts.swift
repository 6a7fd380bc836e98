/// Whether two texts have the same bytes; nil is a text of its own.
///
/// Swift's `==` takes for equal what only looks equal (é in one scalar or in two). Texts here are
/// kept exactly, and what differs in bytes differs in digest.
public func haveSameBytes(_ left: String?, _ right: String?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): left.utf8.elementsEqual(right.utf8)
    default: false
    }
}

/// Whether `left` comes before `right` in byte order; nil comes before every text.
public func precedesInBytes(_ left: String?, _ right: String?) -> Bool {
    guard let right else { return false }
    guard let left else { return true }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
}
