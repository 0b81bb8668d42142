// `halfbyte tokenize`: prints a text's token ids, each with its text.
import { Command } from 'commander'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { encodeStream } from '../../../core/text/tokenize/encode-stream.ts'
import { openTokenizer } from '../../../engine/load/model-text.ts'
import { openAny } from '../../../engine/load/open/open-any.ts'
import type { LoadRequest } from '../../../engine/wire/protocol.ts'
import { openModelFiles, readPieces } from '../files.ts'
import { nodeHost } from '../node-host.ts'
import { MODEL } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { writeOutput } from '../terminal/output.ts'

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
  const open = (place: LoadRequest['source']) => openModelFiles(String(place), { signal })
  const { file, files } = await openAny(givenPlace(model), open, nodeHost(), { signal })
  try {
    const tokenizer = openTokenizer(file)
    const parts = encodeStream(tokenizer, readPieces(flags.file), { parseSpecial: flags.special === true })
    const lineOf = (id: number) => `${visible(`${id}\t${JSON.stringify(tokenizer.tokenText(id))}`)}\n`
    const texts = flags.json === true ? jsonOf(parts) : linesOf(parts, lineOf)
    await writeOutput(undefined, encoded(texts), signal)
  } finally {
    await files.close()
  }
}

async function* linesOf(
  parts: AsyncIterable<number[]>,
  lineOf: (id: number) => string,
): AsyncGenerator<string> {
  for await (const ids of parts) yield ids.map(lineOf).join('')
}

async function* jsonOf(parts: AsyncIterable<number[]>): AsyncGenerator<string> {
  let before = '['
  for await (const ids of parts) {
    if (ids.length === 0) continue
    yield before + ids.join(',')
    before = ','
  }
  yield before === '[' ? '[]\n' : ']\n'
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for await (const text of texts) yield encoder.encode(text)
}
