// The findings about files, buffers, containers and settings.

@testable import LinuxIO
@testable import httpdnsctl
import Testing

@Suite("The machine around the daemon")
struct MachineCheckTests {
    private let user = FileCheck.User(name: "httpdnsd", id: 900, groups: [900])
    private let root = FileStatus(
        isDirectory: true, isRegular: false, size: 4096, ownerID: 0, groupID: 0, mode: 0o755)

    private func file(_ mode: UInt32, owner: UInt32 = 0, group: UInt32 = 0) -> FileStatus {
        FileStatus(isDirectory: false, isRegular: true, size: 1, ownerID: owner, groupID: group, mode: mode)
    }

    private func findings(
        _ purpose: FileCheck.Purpose, _ status: FileStatus?, above: FileStatus? = nil, free: Int? = nil
    ) -> [Finding] {
        let place = FileCheck.Place(
            path: "/etc/x", purpose: purpose, steps: [root, above ?? root, status], freeBytes: free)
        return FileCheck(user: user, userName: "httpdnsd", isUserNeeded: true, places: [place]).findings
    }

    @Test("files are in order if the daemon's user can use them and secrets are closed to others")
    func healthy() {
        #expect(findings(.read, file(0o644)).isEmpty && findings(.read, nil).isEmpty)
        #expect(findings(.secret("key-file"), file(0o640, group: 900)).isEmpty)
        #expect(findings(.make("cache.store"), file(0o755, owner: 900), free: 1 << 30).isEmpty)
        #expect(findings(.write("cache.store"), file(0o600, owner: 900)).isEmpty)
    }

    @Test("each file that can't be used has its remedy")
    func hindrances() {
        #expect(findings(.read, file(0o600)).map(\.remedy.english) == ["chmod a+r /etc/x"])
        #expect(findings(.secret("key-file"), file(0o644)).map(\.remedy.english) == ["chmod o= /etc/x"])
        #expect(findings(.secret("key-file"), file(0o600)).map(\.gravity) == [.fault])
        #expect(findings(.secret("key-file"), nil).map(\.gravity) == [.fault])
        let other = FileCheck.User(name: "dns", id: 901, groups: [901])
        for purpose in [FileCheck.Purpose.secret("key-file"), .make("cache.store")] {
            let place = FileCheck.Place(path: "/etc/x", purpose: purpose, steps: [root, root, nil])
            let check = FileCheck(user: other, userName: "dns", isUserNeeded: true, places: [place])
            #expect(check.findings.allSatisfy { $0.remedy.english.contains("-o dns ") } && check.findings.count == 1)
        }
        #expect(findings(.make("cache.store"), file(0o755)).map(\.remedy.english) == ["chown httpdnsd: /etc/x"])
        #expect(findings(.make("cache.store"), nil).count == 1)
        let own = FileCheck.Place(path: "/var/httpdnsd", purpose: .make("cache.store"), steps: [root, root, nil])
        let check = FileCheck(user: user, userName: "httpdnsd", isUserNeeded: true, places: [own])
        #expect(check.findings.isEmpty, "the daemon makes its own directory")
        #expect(findings(.write("cache.store"), file(0o644)).map(\.remedy.english) == ["chown httpdnsd: /etc/x"])
        #expect(
            findings(.make("cache.store"), file(0o755, owner: 900), free: 1 << 20)[0].text.english.hasPrefix("1 MiB"))
        #expect(findings(.read, file(0o644), above: file(0o700)).map(\.remedy.english) == ["chmod +x /etc"])
    }

    @Test("a service without its user is a fault; without a service no user is needed")
    func missingUser() {
        #expect(FileCheck(user: nil, userName: "x", isUserNeeded: true, places: []).findings.map(\.gravity) == [.fault])
        #expect(FileCheck(user: nil, userName: "x", isUserNeeded: false, places: []).findings.isEmpty)
    }

    @Test("a user and its groups are read from passwd and group")
    func users() {
        let passwd = "root:x:0:0::/root:/bin/sh\nbroken\nhttpdnsd:x:900:901::/:/usr/sbin/nologin\n"
        let found = FileCheck.User(name: "httpdnsd", passwd: passwd, group: "keys:x:77:a,httpdnsd\nother:x:78:a\nx\n")
        #expect(found == FileCheck.User(name: "httpdnsd", id: 900, groups: [901, 77]))
        #expect(FileCheck.User(name: "nobody", passwd: passwd, group: "") == nil)
    }

    @Test("a small buffer matters where it is smaller than usual, or where the daemon has lost questions")
    func buffers() {
        let check = { (allowed: Int, lost: UInt64) in
            BufferCheck(allowedBytes: allowed, requestedBytes: 1 << 20, lostDatagrams: lost).findings.map(\.gravity)
        }
        #expect(check(1 << 20, 5).isEmpty && check(212_992, 0) == [.note])
        #expect(check(212_992, 3) == [.warning] && check(65_536, 0) == [.warning])
    }

    @Test("an OpenSSL without post-quantum keys is a note, if a provider uses TLS")
    func keyExchange() {
        let check = { (isPostQuantum: Bool, hasSecureProviders: Bool) in
            KeyExchangeCheck(
                isPostQuantum: isPostQuantum, version: "3.0.17", hasSecureProviders: hasSecureProviders
            ).findings.map { "\($0.gravity): \($0.text.english)" }
        }
        #expect(check(true, true).isEmpty && check(false, false).isEmpty)
        #expect(check(false, true) == ["note: OpenSSL 3.0.17 has no post-quantum key exchange (X25519MLKEM768)"])
    }

    private func container(
        _ kind: ContainerCheck.Kind, canBind: Bool = true, isUp: Bool = true, port: Int = 53
    ) -> [Finding] {
        ContainerCheck(
            kind: kind, isResolvConfMounted: true, leadsToUs: true, firstFreePort: 1024, lowestPort: port,
            canBindLowPorts: canBind, isUp: isUp
        ).findings
    }

    @Test("a container is a fault only where it forbids the port")
    func containers() {
        #expect(container(.none).isEmpty && container(.container("Docker")).allSatisfy { $0.isNote })
        #expect(container(.container("Docker"), canBind: false, isUp: false).first?.gravity == .fault)
        #expect(container(.none, canBind: false, isUp: false, port: 5300).isEmpty)
        #expect(container(.none, canBind: false, isUp: true).isEmpty)
    }

    @Test("what tells of containers is read without harm")
    func containerTexts() {
        #expect(ContainerCheck.canBindLowPorts("CapBnd:\t0000000000000400\n"))
        #expect(
            !ContainerCheck.canBindLowPorts("Name: x\nCapBnd:\t00000000000003ff\n")
                && ContainerCheck.canBindLowPorts("?"))
    }

    @Test("complaints about the settings are a screenful at most")
    func settings() {
        let complaints: [LocalizedText] = (1...8).map { "f:\($0):1: wrong" }
        let findings = SettingsCheck(complaints: complaints, path: "/f").findings
        #expect(findings.count == 5 && findings[0].remedy.english.hasSuffix("(3 more)"))
        #expect(SettingsCheck(complaints: [], path: "/f").findings.isEmpty)
    }
}
