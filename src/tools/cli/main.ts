// The halfbyte command. It exits with 0, 1 for an error, 2 for wrong usage, or 130 after Ctrl-C.
import { newProgram } from './program.ts'
import { outputError, report } from './terminal/failure.ts'

// Node reports a closed pipe or a full disk through this event, not to the code that called `write`.
process.stdout.on('error', (error) => process.exit(report(outputError(error))))
// Nobody can read a message that can't be written, and the exit code still tells how the command ended.
process.stderr.on('error', () => undefined)

try {
  await newProgram().parseAsync()
} catch (error) {
  process.exitCode = report(error)
}
