import Glibc
import Server

exit(Command.run(Array(CommandLine.arguments.dropFirst())))
