// The halfbyte command. It exits with 0, 1 for an error, 2 for wrong usage, or 130 after Ctrl-C.
import { newProgram } from './program.ts'
import { report } from './terminal/failure.ts'

// Node reports a closed pipe through this event, not to the writing code.
process.stdout.on('error', (error) => process.exit(report(error)))

try {
  await newProgram().parseAsync()
} catch (error) {
  process.exitCode = report(error)
}
