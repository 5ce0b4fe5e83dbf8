// Checks the wall clock against the date of this release and the validity periods of provider certificates. Reads no
// clock.

import Control
import DNSWire

struct ClockCheck: Sendable {
    /// The validity period of a certificate with a trusted authority and a matching name.
    struct Dates: Equatable, Sendable {
        let notBefore: Int64
        let notAfter: Int64
        /// True if every certificate of the chain is valid now.
        let isValidNow: Bool
    }

    /// The wall clock in seconds since 1970.
    let now: Int64
    let releasedAt: Int64
    /// At most one entry for each provider that presented a certificate.
    let certificates: [Dates]
    /// Whether a time service synchronises the wall clock; nil: unknown.
    let isSynchronised: Bool?

    private static let remedy: LocalizedText =
        "timedatectl set-ntp true; or date -u -s 'YYYY-MM-DD hh:mm', then hwclock --systohc"

    /// Whether the clock is wrong: expired-certificate findings of providers are then suppressed.
    var isWrong: Bool { now < releasedAt || isWrongByCertificates }

    /// Requires two invalid certificates and no valid one, since one operator may forget a renewal.
    private var isWrongByCertificates: Bool {
        let invalid = certificates.filter { !$0.isValidNow }.count
        return invalid >= 2 && invalid == certificates.count
    }

    var findings: [Finding] {
        if now < releasedAt {
            return [
                Finding(
                    .fault, .clock,
                    """
                    says \(LineFormat.day(secondsSince1970: now)), before this release \
                    (\(LineFormat.day(secondsSince1970: releasedAt)))
                    """,
                    remedy: ClockCheck.remedy)
            ]
        }
        if isWrongByCertificates {
            let isEarly = certificates.contains { now < $0.notBefore }
            let day = LineFormat.day(secondsSince1970: now)
            return [
                Finding(
                    .fault, .clock,
                    isEarly
                        ? "says \(day), and the certificates of all providers are not valid yet"
                        : "says \(day), and the certificates of all providers have expired",
                    remedy: ClockCheck.remedy)
            ]
        }
        guard isSynchronised == false else { return [] }
        return [
            Finding(
                .note, .clock, "not synchronised (the kernel reports unsynchronised)",
                remedy: LocalizedText(verbatim: "timedatectl set-ntp true"))
        ]
    }
}
