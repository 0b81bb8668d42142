// Builds the program from its commands, without parsing any arguments.
import { Command } from 'commander'
import { calibrateCommand } from './commands/calibrate.ts'
import { chatCommand } from './commands/chat.ts'
import { compareCommand } from './commands/compare.ts'
import { convertCommand } from './commands/convert.ts'
import { embedCommand, rerankCommand } from './commands/embed.ts'
import { evalCommand } from './commands/eval.ts'
import { evaluateCommands } from './commands/evaluate.ts'
import { generateCommand } from './commands/generate.ts'
import { inspectCommand } from './commands/inspect.ts'
import { measureCostsCommand } from './commands/measure-costs.ts'
import { pruneCommand } from './commands/prune.ts'
import { quantizeCommand } from './commands/quantize.ts'
import { runCommand } from './commands/run.ts'
import { tokenizeCommand } from './commands/tokenize.ts'
import { trimCommand } from './compress/trim.ts'
import { EMBEDDED_NAMES } from './models/embedded.ts'
import { modelsCommand } from './models/models-command.ts'
import { pruneStoreCommand, pullCommand, rmCommand } from './models/store-commands.ts'
import { packageVersion, withStoreOption } from './options.ts'
import { serveCommand } from './serve/serve.ts'
import { reportDenials } from './store/node-store.ts'
import { completionCommand, firstSentence } from './terminal/completion.ts'
import { note } from './terminal/notes.ts'
import { tuneCommand } from './tune/tune.ts'

export function newProgram(): Command {
  const program = new Command('halfbyte')
    .description(
      `Language models on the CPU, from WebAssembly kernels. <model> is a file, a folder, a URL, a name listed by "halfbyte models", or an embedded model: ${EMBEDDED_NAMES}.`,
    )
    .version(packageVersion(), '--version', 'print the version')
  program.hook('preAction', () => reportDenials(note))
  program.configureHelp({
    subcommandTerm: (command) => command.name(),
    subcommandDescription: (command) => firstSentence(command.description()),
  })
  const commands: Command[] = [
    ...[generateCommand(), chatCommand(), serveCommand()].map(withStoreOption),
    modelsCommand(),
    pullCommand(),
    rmCommand(),
    pruneStoreCommand(),
    ...[
      inspectCommand(),
      tokenizeCommand(),
      embedCommand(),
      rerankCommand(),
      runCommand(),
      ...evaluateCommands(),
      evalCommand(),
      convertCommand(),
      calibrateCommand(),
      quantizeCommand(),
      pruneCommand(),
      trimCommand(),
      tuneCommand(),
      compareCommand(),
    ].map(withStoreOption),
    measureCostsCommand(),
    completionCommand(() => commands),
  ]
  for (const command of commands) program.addCommand(command)
  for (const command of [program, ...commands]) {
    const name = command === program ? 'halfbyte' : `halfbyte ${command.name()}`
    command.exitOverride().showHelpAfterError(`(see ${name} --help)`)
    // Commander puts a full stop before the reason.
    const outputError = (text: string, write: (text: string) => void) =>
      write(text.replace(/ is invalid\. (?=[a-z])/, ' is invalid; '))
    command.configureOutput({ outputError })
  }
  return program
}
