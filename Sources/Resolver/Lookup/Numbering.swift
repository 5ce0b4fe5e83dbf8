// Numbers keys while they are in use, so that tables about them are arrays. Free numbers are reused.

/// Invariant: `numberOf` has exactly the keys with `uses` above 0.
struct Numbering<Key: Hashable & Sendable>: Sendable {
    private var numberOf: [Key: Int] = [:]
    /// Uses of each number; 0: it is free.
    private(set) var uses: [Int] = []
    private var keys: [Key] = []
    private var free: [Int] = []

    /// Numbers in use, and their keys, in no order.
    var all: [Key: Int] { numberOf }

    /// Keys in use.
    var count: Int { numberOf.count }

    /// Nil for a key that is not in use.
    func number(of key: Key) -> Int? { numberOf[key] }

    /// Adds a use of the key. Numbers are at most one more than the number of keys that were in use together.
    mutating func use(_ key: Key) -> Int {
        if let number = numberOf[key] {
            uses[number] += 1
            return number
        }
        let number: Int
        if let last = free.popLast() {
            number = last
            keys[number] = key
            uses[number] = 1
        } else {
            number = keys.count
            keys.append(key)
            uses.append(1)
        }
        numberOf[key] = number
        return number
    }

    /// Ends a use of the number.
    mutating func end(_ number: Int) {
        uses[number] -= 1
        guard uses[number] == 0 else { return }
        numberOf[keys[number]] = nil
        free.append(number)
    }
}
