// The executable of the daemon: passes the arguments to `Program.run`.

import Daemon
import LinuxIO

Process.exit(Program.run(Array(CommandLine.arguments.dropFirst())))
