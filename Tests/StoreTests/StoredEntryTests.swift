// The age of an entry after a restart, also with clocks that were wrong; and the scope of a removal.

import DNSWire
import Store
import Testing

struct StoredEntryTests {
    private let entry = Samples.entries(1)[0].stored(at: 1_000_000, lifetimeSeconds: 60)

    @Test(
        "an entry ages while the daemon is away, and never has more life than it had",
        arguments: [
            // The numbers are now, last written, and age.
            (1_000_000, 1_000_000, 0), (1_030_000, 1_000_500, 30_000), (9_000_000, 1_000_500, 8_000_000),
            (1_030_000, nil, 30_000), (.max, 1_000_500, 253_402_299_799_999),
            // The clock is corrected by small steps.
            (999_000, 1_000_000, 0), (995_000, 1_000_000, 0), (1_000_000, 1_004_000, 4_000),
            // The clock ran backwards: the entry has just expired, or is as old as the file shows.
            (994_999, 1_000_000, 60_000), (0, 1_000_000, 60_000), (-5, 1_000_000, 60_000), (.min, nil, 60_000),
            (1_010_000, 1_020_000, 60_000), (1_010_000, 1_200_000, 200_000), (0, .max, 253_402_299_799_999),
        ] as [(Int64, Int64?, Int64)])
    func age(now: Int64, lastWritten: Int64?, age: Int64) {
        #expect(entry.ageMilliseconds(nowMilliseconds: now, lastWrittenMilliseconds: lastWritten) == age)
    }

    @Test("numbers out of range are brought into it")
    func range() {
        func made(_ storedAt: Int64, _ demand: Double) -> StoredEntry {
            StoredEntry(
                question: entry.question, partition: 1, sourceClass: .provider, answer: entry.answer,
                storedAtMilliseconds: storedAt, lifetimeSeconds: .max, demand: demand)
        }
        #expect(made(-1, .nan).storedAtMilliseconds == 0 && made(0, .nan).demand == 0)
        #expect(made(.max, -1).storedAtMilliseconds == 253_402_300_799_999 && made(0, -1).demand == 0)
        #expect(made(0, .infinity).demand == 0 && made(0, 2.5).demand == 2.5)
        #expect(made(0, 0).lifetimeSeconds == StoredEntry.maxLifetimeSeconds)
    }
}
