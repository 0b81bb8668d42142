// halfbyte tokenize. In: a model and a text. Out: the text's ids, each with its text.
import { Command } from 'commander'
import { openTokenizer } from '../../engine/load/model-text.ts'
import { openAny } from '../../engine/load/open/open-any.ts'
import { openModelFiles } from '../files.ts'
import { nodeHost } from '../host.ts'
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
  const open = (place: string | readonly File[]) => openModelFiles(String(place), { signal })
  const { file, files } = await openAny(model, open, nodeHost(), { signal })
  try {
    const tokenizer = openTokenizer(file)
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
