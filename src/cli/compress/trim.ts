// `halfbyte trim`: writes a model with the tokens of a text only, as a .hbm pack.
import { stat } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { modelTokenizer } from '../../engine/load/model-text.ts'
import { packContents } from '../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import { type DivergenceAcross, divergenceAcross } from '../../evaluate/divergence-across.ts'
import { writePack } from '../../formats/hbm/hbm-writer.ts'
import { EXACT_KV } from '../../graph/ir.ts'
import { TABLES, withTables } from '../../shrink/vocabulary/coded-tables.ts'
import { chooseTokens, type KeptTokens, trimModel } from '../../shrink/vocabulary/trim-model.ts'
import { withModel, withPrepared } from '../model.ts'
import { type EngineFlags, MODEL, threadsOption, whole } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { clearProgress, overwrite, writeOutput } from '../terminal/output.ts'
import { checkOutput, forceOption } from '../write/check-output.ts'
import { HELD_OUT, qualityText } from './held-out.ts'
import { type TableFlags, tableFormats, withTableOptions } from './table-option.ts'
import { countTokens, type HeldText, provenTexts, twiceEncoded } from './trim-texts.ts'

/** Most tokens of a held-out text, in a model that was trained for as many. */
const HELD_TOKENS = 1024

interface TrimFlags extends TableFlags {
  readonly keepText: readonly string[]
  readonly keep?: number
  readonly heldOut: number
  readonly threads: number | 'auto'
  readonly force?: true
  readonly name?: string
  readonly license?: string
  readonly json?: true
}

export function trimCommand(): Command {
  const command = new Command('trim')
    .description(
      'Write a model that knows the tokens of a text only, as a .hbm pack. Its embedding is smaller by the rows of all others; it still reads and writes every text.',
    )
    .argument('<model>', MODEL)
    .argument('<output>', 'the .hbm file to write')
    .addOption(
      new Option(
        '--keep-text <file>',
        'text like the model will see and write: UTF-8, or .jsonl with a text or messages in each line; may be given several times',
      )
        .argParser((file, before: readonly string[] = []) => [...before, file])
        .makeOptionMandatory(),
    )
    .option(
      '--keep <n>',
      'of the tokens of the text, how many of the most frequent to keep; default: all. Bytes, special tokens and what they are merged of come on top',
      whole(0),
    )
    .option(
      '--held-out <n>',
      'most pieces of the texts that are not counted, by which the result is compared with the original',
      whole(0),
      HELD_OUT,
    )
    .addOption(threadsOption())
    .addOption(forceOption())
    .option('--name <name>', "the model's name; default: its own")
    .option('--license <text>', 'licence to state in the pack')
    .option('--json', 'print one JSON object')
  return withTableOptions(command).action(trim)
}

async function trim(model: string, output: string, flags: TrimFlags): Promise<void> {
  await checkOutput({ model, output, force: flags.force })
  const { made, quality } = await interruptible(async (signal) => {
    const made = await withPrepared(model, { weights: 'auto', forPack: true }, signal, (prepared) =>
      write(prepared, output, flags, signal),
    )
    if (made.held.length === 0) return { made, quality: undefined }
    return { made, quality: await judge(model, output, made, flags, signal) }
  }).finally(clearProgress)
  const { kept, before, texts, samePieces } = made
  const { size: bytes } = await stat(output)
  const summary = {
    output,
    bytes,
    tokens: { before: before.rows, after: kept.ids.length, ...kindsOf(kept) },
    table: { before: before.bytes, after: made.tableBytes },
    texts: { unchanged: texts, samePieces },
    quality,
  }
  process.stdout.write(flags.json === true ? `${JSON.stringify(summary)}\n` : textOf(summary))
}

const kindsOf = ({ fixed, counted, merged }: KeptTokens) => ({ fixed, counted, merged })

interface Summary {
  readonly output: string
  readonly bytes: number
  readonly tokens: ReturnType<typeof kindsOf> & { readonly before: number; readonly after: number }
  readonly table: { readonly before: number; readonly after: number }
  readonly texts: { readonly unchanged: number; readonly samePieces: number }
  readonly quality: DivergenceAcross | undefined
}

function textOf({ output, bytes, tokens, table, texts, quality }: Summary): string {
  return [
    `${tokens.after} of ${tokens.before} tokens: ${tokens.fixed} bytes, special tokens and tokens of the chat template, ${tokens.counted} more of the text, ${tokens.merged} to merge them of`,
    `embedding and logits: ${table.after} bytes, before ${table.before}`,
    `${texts.unchanged} pieces of text read and written unchanged, ${texts.samePieces} of them with the same tokens`,
    `${visible(output)}: ${bytes} bytes`,
    ...(quality === undefined
      ? ['not compared with the original: no text was held out; give more text, or another --held-out']
      : [
          `the held-out texts have ${quality.tokensAfter} tokens, with the original's ${quality.tokens}; predictions are compared at ${quality.places} places, among the tokens that both know`,
          qualityText(quality).trimEnd(),
        ]),
    '',
  ].join('\n')
}

interface Made {
  readonly kept: KeptTokens
  readonly before: { readonly rows: number; readonly bytes: number }
  readonly tableBytes: number
  readonly held: readonly HeldText[]
  /** Most tokens of a held-out text. */
  readonly context: number
  readonly texts: number
  readonly samePieces: number
}

/** Nothing is written before all texts were read and written by the trimmed tokenizer. */
async function write(
  prepared: PreparedModel,
  output: string,
  flags: TrimFlags,
  signal: AbortSignal,
): Promise<Made> {
  const { keepText: files, keep, license, name } = flags
  const tokenizer = modelTokenizer(prepared.file, prepared.config.vocabSize)
  const { counts, held } = await countTokens(files, tokenizer, flags.heldOut, signal)
  const kept = chooseTokens(prepared, counts, keep)
  const trimmed = await trimModel(prepared, kept.ids, signal)
  const proof = await provenTexts(files, tokenizer, trimmed, kept.ids, signal)
  const card = { name, about: license === undefined ? undefined : { license }, signal }
  const contents = withTables(await packContents(trimmed, card), trimmed.weights, tableFormats(flags), signal)
  await writeOutput(output, writePack(contents, signal), signal)
  const rows = prepared.config.vocabSize
  const whole = tableBytesOf(await packContents(prepared, card))
  const context = Math.min(HELD_TOKENS, prepared.config.contextLength)
  return { kept, before: { rows, bytes: whole }, tableBytes: tableBytesOf(contents), held, context, ...proof }
}

const tableBytesOf = ({ tensors }: Awaited<ReturnType<typeof packContents>>): number =>
  tensors.reduce((sum, { name, bytes }) => sum + (TABLES.includes(name) ? bytes : 0), 0)

/** Both run in the encodings that they are stored in: most of their matrices are the same. */
async function judge(
  model: string,
  output: string,
  { held, kept, context }: Made,
  { threads }: TrimFlags,
  signal: AbortSignal,
): Promise<DivergenceAcross> {
  const flags: EngineFlags = { threads, build: 'auto', kv: EXACT_KV, weights: 'auto', context }
  return withModel(model, flags, signal, (before) =>
    withModel(output, flags, signal, (after) => {
      const texts = held
        .map((text) => twiceEncoded(text, before.tokenizer, after.tokenizer, context))
        .filter((text) => text.before.length > 1)
      return divergenceAcross(before, after, {
        texts,
        kept: kept.ids,
        signal,
        onText: (done, total) => overwrite(`comparing with the original: text ${done} of ${total}`),
      })
    }),
  )
}
