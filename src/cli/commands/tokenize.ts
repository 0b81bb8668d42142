// halfbyte tokenize. In: a model and a text. Out: the text's ids, each with its text.
import { Command } from 'commander'
import { openTokenizer } from '../../engine/load/model-text.ts'
import { openModel } from '../../formats/model-file.ts'
import { openModelFiles } from '../files.ts'
import { MODEL } from '../options.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { visible } from '../terminal/visible.ts'
import { readText } from '../text-file.ts'

interface TokenizeFlags {
  readonly file?: string
  readonly special?: true
  readonly json?: true
}

export function tokenizeCommand(): Command {
  return new Command('tokenize')
    .description('Show the tokens of a text, read from a file or from stdin.')
    .argument('<model>', MODEL)
    .option('--file <file>', 'UTF-8 text; default: stdin')
    .option('--special', 'recognise special tokens in the text')
    .option('--json', 'print the ids as one JSON array')
    .action((model: string, flags: TokenizeFlags) =>
      interruptible((signal) => tokenize(model, flags, signal)),
    )
}

async function tokenize(model: string, flags: TokenizeFlags, signal: AbortSignal): Promise<void> {
  const files = await openModelFiles(model, { signal })
  try {
    const tokenizer = openTokenizer(await openModel(files.sources, signal))
    const ids = tokenizer.encode(await readText(flags.file), { parseSpecial: flags.special === true })
    const lines =
      flags.json === true
        ? [JSON.stringify(ids)]
        : ids.map((id) => `${id}\t${JSON.stringify(tokenizer.tokenText(id))}`)
    process.stdout.write(lines.map((line) => `${visible(line)}\n`).join(''))
  } finally {
    await files.close()
  }
}
