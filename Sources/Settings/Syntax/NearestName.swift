// Finds the known name that a mistyped name most likely means ("did you mean ...?").

/// Maximum size of a compared name. Longer names are not typing errors, and the comparison time is proportional to both
/// lengths.
private let maxComparedBytes = 40

/// The shortest prefix that matches a known name.
private let minBeginningBytes = 3

/// Returns the nearest known name; nil if no name is near. Accepts a prefix, or an edit distance of at most a third of
/// the name's length, and at least one.
package func nearestName(to name: String, among known: [String]) -> String? {
    guard name.utf8.count <= maxComparedBytes else { return nil }
    if name.utf8.count >= minBeginningBytes, let whole = known.first(where: { $0.hasPrefix(name) }) { return whole }
    let ranked = known.map { (name: $0, distance: editDistance(Array(name.utf8), Array($0.utf8))) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(1, best.name.utf8.count / 3) ? best.name : nil
}

/// Counts inserted, deleted, changed and transposed letters (optimal string alignment).
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
