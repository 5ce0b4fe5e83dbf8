// How long answers are kept: the settings' limits applied to what upstreams say.

import DNSWire

package struct CachePolicy: Equatable, Sendable {
    package let minTTLSeconds: UInt32
    package let maxTTLSeconds: UInt32
    package let negativeMaxTTLSeconds: UInt32

    package init(minTTLSeconds: UInt32, maxTTLSeconds: UInt32, negativeMaxTTLSeconds: UInt32) {
        self.minTTLSeconds = minTTLSeconds
        self.maxTTLSeconds = maxTTLSeconds
        self.negativeMaxTTLSeconds = negativeMaxTTLSeconds
    }

    func applied(to answer: Answer) -> Answer {
        switch answer.kind {
        case .records: answer.withTTL(from: minTTLSeconds, to: maxTTLSeconds)
        case .noData, .noSuchName, .unprovenEmpty:
            answer.withTTL(from: 0, to: min(maxTTLSeconds, negativeMaxTTLSeconds))
        }
    }
}
