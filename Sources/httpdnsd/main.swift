// The program under its three names: the daemon, its control program, and the helper for nftables sets. Each of them
// alone would carry Swift's runtime again, half of the bytes.

import Daemon
import LinuxIO
import NFTSetHelper
import httpdnsctl

let arguments = Array(CommandLine.arguments.dropFirst())
switch Process.name {
case "httpdnsctl": Process.exit(ControlProgram.run(arguments))
case "httpdnsd-nftset": Process.exit(HelperProgram.run(arguments))
default: Process.exit(Program.run(arguments))
}
