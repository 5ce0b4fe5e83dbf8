// The word that somebody may have meant.

enum Spelling {
    /// The candidate with the fewest single-letter edits, if these are few enough to be a slip.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        let distances = candidates.map { (candidate: $0, distance: distance(word, $0)) }
        guard let best = distances.min(by: { $0.distance < $1.distance }), best.distance <= 2 else { return nil }
        return best.candidate
    }

    /// Levenshtein's distance (1966), row by row. Words longer than any candidate of ours are cut.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8.prefix(64)), Array(right.utf8.prefix(64)))
        var row = Array(0...right.count)
        for (leftIndex, leftByte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = leftIndex + 1
            for (rightIndex, rightByte) in right.enumerated() {
                let change = diagonal + (leftByte == rightByte ? 0 : 1)
                diagonal = row[rightIndex + 1]
                row[rightIndex + 1] = min(change, row[rightIndex] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
