// Makes a smaller pack of a model for the chat page. In: the model, and the pack's settings. Out: the pack
// and its card in a folder that the page's build reads. An interrupted run is resumed.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newProgram } from '../../src/tools/cli/program.ts'
import { interruptible } from '../../src/tools/cli/terminal/failure.ts'
import { clearProgress, overwrite } from '../../src/tools/cli/terminal/output.ts'
import type { MadePack } from './packs.ts'
import { writeChats } from './write-chats.ts'

export interface MakeOptions {
  /** The model's file. */
  readonly model: string
  /** Where the pack is written. */
  readonly packs: string
  /** Where the model's generated text is written. */
  readonly work: string
  readonly prompts: readonly string[]
  /** Maximum tokens of the reply to a prompt. */
  readonly replyTokens: number
  /** Number of calibration windows of the text, and tokens per window. */
  readonly windows: number
  readonly windowTokens: number
  readonly threads: number | 'auto'
}

export interface Made {
  readonly pack: string
  readonly bytes: number
  readonly sha256: string
}

/**
 * The same model and prompts give the same bytes, with any number of threads. Throws what `writeChats` and
 * `halfbyte quantize` throw, or an `AbortError` after Ctrl-C.
 */
export async function makePack({ file, table, card }: MadePack, options: MakeOptions): Promise<Made> {
  const { model, packs, work, prompts, replyTokens, threads } = options
  const chats = join(work, 'chats.jsonl')
  const pack = join(packs, `${file}.hbm`)
  const cardPath = join(packs, `${file}.json`)
  await mkdir(packs, { recursive: true })
  // The page offers every pack that has a card, so the card is written last.
  await rm(cardPath, { force: true })
  await interruptible((signal) =>
    writeChats(chats, {
      model,
      prompts,
      replyTokens,
      threads,
      signal,
      onChat: (done, total) => tell(`the model writes its calibration text, chat ${done} of ${total}`),
    }),
  ).finally(clearProgress)
  await newProgram().parseAsync(quantizeArguments(pack, chats, { table, card }, options), { from: 'user' })
  await writeFile(cardPath, `${JSON.stringify(card, undefined, 2)}\n`)
  // The next run starts over with the inputs of its time.
  await rm(chats)
  const sha256 = createHash('sha256')
    .update(await readFile(pack))
    .digest('hex')
  return { pack, bytes: (await stat(pack)).size, sha256 }
}

function quantizeArguments(
  pack: string,
  chats: string,
  { table, card }: Pick<MadePack, 'table' | 'card'>,
  { model, windows, windowTokens, threads }: MakeOptions,
): string[] {
  return [
    ...['quantize', model, pack, '--weights', 'keep', '--table', table, '--calibration', chats],
    ...['--windows', String(windows), '--context', String(windowTokens), '--threads', String(threads)],
    // No sweeps over the codes, which take several times as long for this many rows.
    ...['--sweeps', '0', '--name', card.title, '--license', card.licence, '--force'],
    ...(existsSync(`${pack}.work`) ? ['--resume'] : []),
  ]
}

/** Without a terminal, prints one line per message. */
function tell(text: string): void {
  if (process.stderr.isTTY) overwrite(text)
  else process.stdout.write(`${text}\n`)
}
