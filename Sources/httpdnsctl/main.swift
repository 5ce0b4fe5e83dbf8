// The control program's process: arguments to one call.

import LinuxIO

Process.exit(Client.run(Array(CommandLine.arguments.dropFirst())))
