// Chooses the provider addresses to dial and the CA certificates to trust. Derives the checks of providers, clock and
// CA store from the results.

import Crypto
import DNSWire
import LinuxIO
import Settings

struct ProviderDialling {
    let checks: [ConnectionCheck]
    let authorities: AuthorityCheck
    let releasedAt: Int64
    private let omitted: [ProviderCheck.Place]
    private let now: Int64

    /// Connections that are made concurrently; a provider has two to four addresses.
    private static let maxChecks = 64
    private static let maxAddresses = 8

    /// - Parameter now: seconds since 1970.
    init(_ settings: Settings, now: Int64, releasedAt: Int64) {
        var contexts = Contexts()
        var checks: [ConnectionCheck] = []
        var omitted: [ProviderCheck.Place] = []
        var usersOfSystem = settings.probe.enabled && settings.probe.caFile == nil ? ["probe"] : []
        var files: [AuthorityCheck.File] = []
        if settings.probe.enabled, let file = settings.probe.caFile {
            files.append(AuthorityCheck.File(key: "probe.ca-file", path: file, store: contexts.store(file)))
        }
        for provider in settings.providers {
            if provider.url.isSecure, provider.caFile == nil { usersOfSystem.append(provider.name) }
            if provider.url.isSecure, let file = provider.caFile {
                let key: LocalizedText = "ca-file of provider \(provider.name)"
                files.append(AuthorityCheck.File(key: key, path: file, store: contexts.store(file)))
            }
            let terms = ProviderDialling.terms(provider, &contexts, now)
            for (index, target) in ProviderDialling.targets(provider).enumerated() {
                let check = ConnectionCheck(
                    provider: provider.name, place: target, kind: ProviderDialling.kind(provider), terms)
                if index < ProviderDialling.maxAddresses, checks.count < ProviderDialling.maxChecks {
                    checks.append(check)
                } else {
                    omitted.append(ProviderDialling.place(check, .notDialled))
                }
            }
        }
        self.checks = checks
        self.omitted = omitted
        self.now = now
        self.releasedAt = releasedAt
        authorities = AuthorityCheck(
            system: ProviderDialling.systemStore(contexts.context(nil)), usersOfSystem: usersOfSystem, files: files)
    }

    var clock: ClockCheck {
        var seen: Set<String> = []
        let dates = checks.compactMap { check in
            check.dates.flatMap { seen.insert(check.provider).inserted ? $0 : nil }
        }
        return ClockCheck(now: now, releasedAt: releasedAt, certificates: dates, isSynchronised: Clock.isSynchronised)
    }

    var check: ProviderCheck {
        ProviderCheck(
            places: checks.map { ProviderDialling.place($0, $0.outcome ?? .notDialled) } + omitted,
            isClockWrong: clock.isWrong, hasAuthorities: authorities.findings.isEmpty)
    }

    var routes: RouteCheck {
        RouteCheck(
            addresses: MachineFiles.text("/proc/net/if_inet6"), routes: MachineFiles.text("/proc/net/ipv6_route"),
            outcomes: checks.filter(\.place.isIPv6).compactMap(\.outcome),
            worksByIPv4: checks.contains { !$0.place.isIPv6 && $0.outcome == .fine })
    }

    private static func place(_ check: ConnectionCheck, _ outcome: ProviderCheck.Outcome) -> ProviderCheck.Place {
        ProviderCheck.Place(
            provider: check.provider, place: "\(check.place)", isIPv6: check.place.isIPv6, kind: check.kind,
            outcome: outcome)
    }

    private static func kind(_ provider: Settings.Provider) -> String {
        provider.proxy != nil ? "proxy" : provider.url.isSecure ? "https" : "http"
    }

    private static func targets(_ provider: Settings.Provider) -> [SocketAddress] {
        if let proxy = provider.proxy {
            return [proxy.endpoint]
        }
        return provider.addresses.map { SocketAddress($0, port: provider.url.port) }
    }

    /// Returns the terms of the TLS handshake; nil: only connect. A server name in TLS cannot be an address (RFC 6066
    /// section 3), so the daemon alone verifies a provider that has only an address.
    private static func terms(
        _ provider: Settings.Provider, _ contexts: inout Contexts, _ now: Int64
    ) -> ConnectionCheck.Terms? {
        guard provider.url.isSecure, provider.proxy == nil, let context = contexts.context(provider.caFile) else {
            return nil
        }
        let host: String? = if case .name(let name) = provider.url.host { name } else { nil }
        guard let name = provider.sni ?? host else { return nil }
        return ConnectionCheck.Terms(
            context: context, name: name, checksName: provider.verifyName == nil || provider.verifyName == name,
            now: now)
    }

    /// Returns what the daemon's TLS finds by default: a hashed directory, or else the file, which names the reason.
    private static func systemStore(_ context: TLSContext?) -> AuthorityCheck.Store {
        if context?.hasAuthorities == true { return .present }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try TextFile.read(MachineFiles.authorities, maxBytes: maxStoreBytes)
        } catch {
            return error.isNoSuchFile ? .missing : .unreadable(error.description)
        }
        return bytes.firstRange(of: Array("BEGIN CERTIFICATE".utf8)) == nil ? .empty : .present
    }

    /// Bound on the CA store. Debian's CA bundle has about 220 KiB.
    private static let maxStoreBytes = 16 << 20
}

/// TLS contexts by CA file; each file is read once.
private struct Contexts {
    private var made: [String: TLSContext] = [:]

    /// Returns the TLS context for a CA file; nil: the file is unusable.
    mutating func context(_ path: String?) -> TLSContext? {
        let key = path ?? ""
        if let context = made[key] { return context }
        let context = try? TLSContext(caFile: path, protocols: ["h2", "http/1.1"])
        made[key] = context
        return context
    }

    mutating func store(_ path: String) -> AuthorityCheck.Store {
        do throws(SystemError) {
            _ = try FileStatus(at: path)
        } catch {
            // The daemon may be able to read a file that this user cannot read.
            return error.isPermissionDenied ? .present : .missing
        }
        do throws(CryptoError) {
            made[path] = try TLSContext(caFile: path, protocols: ["h2", "http/1.1"])
            return .present
        } catch {
            return .unreadable(error.text)
        }
    }
}
