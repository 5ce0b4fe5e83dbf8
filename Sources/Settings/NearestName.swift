// "Did you mean ...?": the known name that a mistyped one most likely stands for.

/// Longer names are no slips of the finger, and comparing takes time in proportion to both lengths.
private let maxComparedBytes = 40

/// The shortest beginning of a name that is taken for the name.
private let minBeginningBytes = 3

/// Nil if nothing is near: at most a third of the letters, and at least one, may be wrong; or the name was cut short.
func nearestName(to name: String, among known: [String]) -> String? {
    guard name.utf8.count <= maxComparedBytes else { return nil }
    if name.utf8.count >= minBeginningBytes, let whole = known.first(where: { $0.hasPrefix(name) }) { return whole }
    let ranked = known.map { (name: $0, distance: editDistance(Array(name.utf8), Array($0.utf8))) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(1, best.name.utf8.count / 3) ? best.name : nil
}

/// Letters put in, left out, changed, or swapped with their neighbour (optimal string alignment).
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var older: [Int] = []
    var previous = Array(0...right.count)
    for row in 0..<left.count {
        var current = [row + 1]
        for column in 0..<right.count {
            let changed = previous[column] + (left[row] == right[column] ? 0 : 1)
            var cost = min(changed, previous[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                cost = min(cost, older[column - 1] + 1)
            }
            current.append(cost)
        }
        older = previous
        previous = current
    }
    return previous[right.count]
}
