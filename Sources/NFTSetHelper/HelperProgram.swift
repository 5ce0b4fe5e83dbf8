// Entry point of the helper: it has the right to change nftables sets, which the daemon lacks, and no other right.

import Confinement
import DNSWire
import LinuxIO
import Settings

package enum HelperProgram {
    private static let help = """
        httpdnsd-nftset [--config FILE] [--socket PATH] [--help]

        Adds addresses to nftables sets for httpdnsd. Takes them from the socket of the service manager, or listens at
        control.nftset-socket of the settings.

          --config FILE   settings (default /etc/httpdnsd/httpdnsd.toml); only sets that a rule names are changed
          --socket PATH   listen here

        Exit codes: 0 ok, 1 failed, 3 usage.

        """

    /// The user of a helper that root starts. On a machine without this user, the helper has the shared uid 65534.
    private static let user = "httpdnsd-nftset"

    /// Returns the exit code: 0 ok, 1 failed, 3 usage.
    package static func run(_ arguments: [String]) -> Int32 {
        var (config, socket): (String?, String?) = (nil, nil)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h":
                StandardStreams.writeOutput(help)
                return 0
            case "--config" where rest.first != nil: config = rest.popFirst()
            case "--socket" where rest.first != nil: socket = rest.popFirst()
            default:
                say("unknown argument \(argument), or its value is missing; see --help")
                return 3
            }
        }
        do throws(HelperFailure) {
            let listed = try ListedSets(config)
            let listener = try listener(at: socket ?? listed.socket, for: listed)
            try dropRights(group: listed.daemon?.groupID)
            let requests = try RequestLoop(listener, listed)
            if let problem = filterCalls() { say("no system call filter: \(problem)") }
            let names = listed.sets.map(\.description).sorted().joined(separator: ", ")
            say("ready: \(names.isEmpty ? "no sets yet" : names)")
            try requests.run()
        } catch {
            say(error.text)
            return 1
        }
        return 0
    }

    static func say(_ text: String) { StandardStreams.writeError("httpdnsd-nftset: \(text)\n") }

    private static func listener(at path: String, for listed: ListedSets) throws(HelperFailure) -> PacketListener {
        do throws(SystemError) {
            if let inherited = try PacketListener(inherited: Environment.take) {
                listed.socketOwnerID = try inherited.ownerID()
                return inherited
            }
            return try PacketListener(path: path, group: listed.daemon?.groupID ?? 0)
        } catch {
            throw HelperFailure("\(path): can't listen there: \(error)")
        }
    }

    /// - Parameter group: the daemon's group. Settings that only this group may read have to be read again.
    private static func dropRights(group: UInt32?) throws(HelperFailure) {
        let own = try Account.ifKnown(user)
        do throws(SystemError) {
            try Privileges.keepNetworkAdministration(
                Account(
                    name: user, userID: own?.userID ?? Machine.sharedID,
                    groupID: group ?? own?.groupID ?? Machine.sharedID))
        } catch {
            throw HelperFailure(
                "rights can't be reduced to CAP_NET_ADMIN: \(error); start it as root or by httpdnsd-nftset.socket")
        }
    }

    private static func filterCalls() -> String? {
        do throws(SystemCallFilter.Failure) {
            try SystemCallFilter.begin()
            return nil
        } catch {
            return error.description
        }
    }
}
