// The index, compared with a dictionary.

import TestSupport
import Testing

@testable import Resolver

@Suite("Hash index")
struct HashIndexTests {
    @Test("the index does what a dictionary does", arguments: 1...20 as ClosedRange<UInt64>)
    func model(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        // Few hashes, so that entries collide and their runs cross the end of the cells.
        let mask = seed.isMultiple(of: 2) ? 0x7 : 0x1_FFFF
        var keys: [Int] = []
        var hashes: [Int] = []
        var index = HashIndex()
        var model: [Int: Int] = [:]
        for key in 0..<2000 {
            let hash = Int.random(in: .min ... .max, using: &random) & mask
            if keys.count < 300 {
                index.add(keys.count, hash: hash)
                model[key] = keys.count
                keys.append(key)
                hashes.append(hash)
            } else {
                let number = Int.random(in: 0..<300, using: &random)
                index.remove(number, hash: hashes[number])
                model[keys[number]] = nil
                #expect(index.number(hashes[number]) { $0 == number } == nil, "seed \(seed)")
                index.add(number, hash: hash)
                model[key] = number
                (keys[number], hashes[number]) = (key, hash)
            }
            let asked = Int.random(in: keys.indices, using: &random)
            #expect(index.number(hashes[asked]) { keys[$0] == keys[asked] } == model[keys[asked]], "seed \(seed)")
        }
        for number in keys.indices {
            #expect(index.number(hashes[number]) { $0 == number } == number, "seed \(seed)")
            #expect(index.numbers(hashes[number]).contains(number), "seed \(seed)")
        }
    }

    @Test("it has room for every number")
    func full() {
        var index = HashIndex()
        let numbers = 0..<49_152
        for number in numbers { index.add(number, hash: number &* 0x9E37_79B9) }
        #expect(numbers.allSatisfy { number in index.number(number &* 0x9E37_79B9) { $0 == number } == number })
    }
}
