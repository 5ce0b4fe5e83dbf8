// Record types and response codes by name and number.

import DNSWire
import Testing

struct RecordTypeTests {
    @Test("a type is read by its mnemonic in any case, or by its number, and printed so that it can be read again")
    func text() {
        for (text, number, printed) in [
            ("A", 1, "A"), ("aaaa", 28, "AAAA"), ("Https", 65, "HTTPS"), ("TYPE1", 1, "A"),
            ("type65535", 65535, "TYPE65535"),
            ("TYPE0", 0, "TYPE0"), ("any", 255, "ANY"), ("svcb", 64, "SVCB"),
        ] as [(String, UInt16, String)] {
            #expect(RecordType(text)?.rawValue == number && RecordType(text)?.description == printed, "\(text)")
        }
        for number in UInt16.min...UInt16.max {
            let type = RecordType(rawValue: number)
            #expect(RecordType(type.description) == type)
        }
    }

    @Test(
        "what is no type is refused",
        arguments: ["", "B", "TYPE", "TYPE65536", "TYPE-1", "TYPE+1", "TYPE 1", "A ", "1"])
    func refused(text: String) {
        #expect(RecordType(text) == nil)
    }

    @Test("A and AAAA are address types; OPT and 128 to 255 are meta types")
    func classes() {
        let numbers = UInt16.min...UInt16.max
        #expect(numbers.filter { RecordType(rawValue: $0).isAddress } == [1, 28])
        #expect(numbers.filter { RecordType(rawValue: $0).isMeta } == [41] + Array(128...255))
    }

    @Test("response codes have the names that dig prints")
    func codes() {
        let names = [0, 1, 2, 3, 4, 5, 16, 11].map { ResponseCode(rawValue: $0).description }
        #expect(
            names == [
                "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "BADVERS", "RCODE11",
            ])
    }
}
