// The names of the simulated day and their true records: names have lifetimes and drifting popularity, and answers
// carry their time of issue, so that a reply shows its age.

import DNSWire
import Glibc
import TestSupport

struct World {
    /// The seconds for which an answer may be used.
    typealias Lifetime = UInt32

    /// What a world is made of.
    struct Plan {
        /// Sites with the longest and shortest lifetimes of the Web. Each is a domain of its own, some have no IPv6
        /// address, and some do not exist.
        static let day = Plan(siteCount: 20_000, zipfExponent: 1.2) { 5 * pow(17_280, $0) }

        let siteCount: Int
        let zipfExponent: Double
        /// The number of registrable domains; nil: each site has its own.
        var domainCount: Int?
        /// Whether some sites have no IPv6 address, and some do not exist.
        var hasGaps = true
        /// Returns the lifetime in seconds for a random number from 0 to 1.
        let lifetime: @Sendable (Double) -> Double
    }

    struct Site {
        let lifetime: Lifetime
        let hasFamily: (v4: Bool, v6: Bool)
        let exists: Bool
    }

    private let plan: Plan
    private let sites: [Site]
    private let questions: [Question]
    private let packets: [[UInt8]]
    private let popularity: AliasTable
    /// The sites by rank.
    private var siteOfRank: [Int]

    private static let zone = Name("example") ?? .root

    init(_ plan: Plan, random: inout SeededRandom) {
        self.plan = plan
        sites = (0..<plan.siteCount).map { _ in
            let isFamous = plan.hasGaps ? Int.random(in: 0..<100, using: &random) : 0
            return Site(
                lifetime: UInt32(plan.lifetime(.random(in: 0...1, using: &random))),
                hasFamily: (true, isFamous < 60), exists: isFamous < 95)
        }
        questions = (0..<plan.siteCount).flatMap { number in
            let domain = plan.domainCount.map { ".d\(number % $0)" } ?? ""
            return [RecordType.a, .aaaa].map { Question(World.name("n\(number)\(domain)"), $0) }
        }
        packets = questions.map { QueryPacket($0.name, $0.type, payloadSize: 1232).bytes }
        popularity = AliasTable((1...plan.siteCount).map { pow(Double($0), -plan.zipfExponent) })
        siteOfRank = Array(0..<plan.siteCount).shuffled(using: &random)
    }

    /// The number of subjects with a number, those of invented names aside.
    var subjectCount: Int { questions.count }

    // MARK: what is asked

    mutating func drift(random: inout SeededRandom) {
        let rank = Int(pow(Double(plan.siteCount), Double.random(in: 0..<1, using: &random))) - 1
        siteOfRank.swapAt(rank, Int.random(in: 0..<plan.siteCount, using: &random))
    }

    func popularSite(random: inout SeededRandom) -> Int { siteOfRank[popularity.pick(random: &random)] }

    func packet(_ subject: Subject) -> [UInt8] {
        switch subject.kind {
        case .site: packets[subject.number]
        case .invented:
            QueryPacket(World.name("x\(subject.number)"), .a, payloadSize: 1232).bytes
        }
    }

    private static func name(_ label: String) -> Name { Name("\(label).example") ?? .root }

    // MARK: what is true

    func lifetime(of subject: Subject) -> Lifetime {
        switch subject.kind {
        case .site: isPositive(subject) ? sites[subject.number / 2].lifetime : 300
        case .invented: 300
        }
    }

    func isPositive(_ subject: Subject) -> Bool {
        guard exists(subject) else { return false }
        let families = sites[subject.number / 2].hasFamily
        return subject.number.isMultiple(of: 2) ? families.v4 : families.v6
    }

    func exists(_ subject: Subject) -> Bool { subject.kind == .site && sites[subject.number / 2].exists }

    /// - Parameters:
    ///   - secondOfIssue: the second at which the owner issued the answer.
    ///   - lifetime: the remaining part of the owner's lifetime.
    func answer(_ subject: Subject, secondOfIssue: Int64, lifetime: Lifetime) -> Answer {
        let stamp = UInt32(truncatingIfNeeded: secondOfIssue)
        guard isPositive(subject) else {
            let record = ResourceRecord(
                owner: World.zone, type: .soa, ttlSeconds: lifetime, data: World.startOfAuthority(stamp, lifetime))
            return Answer(negative: exists(subject) ? .noData : .noSuchName, authority: record)
        }
        let owner = questions[subject.number].name
        let address = World.address(subject, stamp)
        return Answer(records: [ResourceRecord(owner: owner, address: address, ttlSeconds: lifetime)])
    }

    /// A public address. An IPv4 address has the low seven bits of the site's number beside the 17 bits of the second.
    private static func address(_ subject: Subject, _ stamp: UInt32) -> Address {
        subject.number.isMultiple(of: 2)
            ? .v4(20 << 24 | mark(of: subject) << 17 | stamp)
            : .v6(high: 0x2606_4700 << 32 | UInt64(mark(of: subject)), low: UInt64(stamp))
    }

    /// SOA data with the second of issue as serial number; the names are the root, and the timers have no effect.
    private static func startOfAuthority(_ stamp: UInt32, _ lifetime: Lifetime) -> [UInt8] {
        [0, 0] + [stamp, 3600, 600, 86_400, lifetime].flatMap { Address.v4($0).bytes }
    }

    /// The number that distinguishes the addresses of one name from those of others.
    static func mark(of subject: Subject) -> UInt32 {
        subject.number.isMultiple(of: 2)
            ? UInt32(subject.number / 2) & 0x7F : UInt32(subject.number / 2)
    }
}

/// A question in the world's own numbers.
struct Subject: Hashable {
    enum Kind {
        /// The number is twice the site's, plus one for AAAA.
        case site
        /// A name that does not exist.
        case invented
    }

    let kind: Kind
    let number: Int

    init(_ kind: Kind, _ number: Int) {
        self.kind = kind
        self.number = number
    }

    /// The subject of a question that `World` has made.
    init(_ question: Question) {
        let label = question.name.wire[1...].prefix(Int(question.name.wire[0]))
        let digits = label.dropFirst().reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        self.init(
            label.first == UInt8(ascii: "n") ? .site : .invented,
            label.first == UInt8(ascii: "n") ? digits * 2 + (question.type == .aaaa ? 1 : 0) : digits)
    }
}

/// Draws numbers by weight in constant time (Walker 1977, in Vose's form).
struct AliasTable {
    private var threshold: [Double]
    private var alias: [Int]

    init(_ weights: [Double]) {
        let mean = weights.reduce(0, +) / Double(weights.count)
        threshold = weights.map { $0 / mean }
        alias = Array(weights.indices)
        var small = threshold.indices.filter { threshold[$0] < 1 }
        var large = threshold.indices.filter { threshold[$0] >= 1 }
        while let less = small.popLast(), let more = large.last {
            alias[less] = more
            threshold[more] -= 1 - threshold[less]
            if threshold[more] < 1 { small.append(large.removeLast()) }
        }
    }

    func pick(random: inout SeededRandom) -> Int {
        let drawn = Double.random(in: 0..<Double(threshold.count), using: &random)
        let column = Int(drawn)
        return drawn - Double(column) < threshold[column] ? column : alias[column]
    }
}
