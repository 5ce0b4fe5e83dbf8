// The daemon's process: arguments to one call.

import Daemon
import LinuxIO

Process.exit(Program.run(Array(CommandLine.arguments.dropFirst())))
