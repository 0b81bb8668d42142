// `halfbyte trim`: writes a model with only the tokens of a text, as a .hbm pack.
import { stat } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import { EXACT_KV } from '../../../core/graph/ir.ts'
import { modelTokenizer } from '../../../engine/load/model-text.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { type DivergenceAcross, divergenceAcross } from '../../evaluate/divergence-across.ts'
import { headName, planEncodings, solveHead } from '../../shrink/calibrate/solve-head.ts'
import { DEFAULT_DAMP } from '../../shrink/matrix/factor.ts'
import { DEFAULT_SWEEPS } from '../../shrink/matrix/refine.ts'
import type { KeptTokens } from '../../shrink/vocabulary/choose-tokens.ts'
import { TABLES, withTables } from '../../shrink/vocabulary/coded-tables.ts'
import { scriptsOf } from '../../shrink/vocabulary/languages.ts'
import { chooseTokens, roundTrip, trimModel } from '../../shrink/vocabulary/trim-model.ts'
import { withModel, withPrepared } from '../models/model.ts'
import { loadSolver, nodeHost, startSolver } from '../node-host.ts'
import { type EngineFlags, MODEL, repeated, threadsOption, whole } from '../options.ts'
import { interruptible } from '../terminal/failure.ts'
import { clearProgress, writeOutput } from '../terminal/output.ts'
import { checkName, checkOutput, forceOption, makeFolder } from '../write/check-output.ts'
import { countedContents } from '../write/counted-contents.ts'
import { HELD_OUT } from './held-out.ts'
import { tableFormats, withTableOptions } from './table-option.ts'
import { isLocalEncoder, trimEncoderFolder } from './trim-encoder.ts'
import type { TrimFlags } from './trim-flags.ts'
import { bytesOf, TrimProgress } from './trim-progress.ts'
import { kindsOf, textOf } from './trim-text.ts'
import {
  countTokens,
  type HeldText,
  provenTexts,
  readerOf,
  type TextReader,
  twiceEncoded,
  windowsOf,
} from './trim-texts.ts'

/** Maximum number of tokens of a held-out text, if the model supports that many. */
const HELD_TOKENS = 1024

/** The text that a table's codes are solved for: number of windows, and tokens per window. */
const WINDOWS = 64
const WINDOW_TOKENS = 256

export function trimCommand(): Command {
  const command = new Command('trim')
    .description(
      "Trim a model's vocabulary to the tokens of a text, and write a .hbm pack, or a folder for an encoder. The embedding loses the rows of all other tokens; the model can still read and write any text.",
    )
    .argument('<model>', MODEL)
    .argument('<output>', 'the .hbm file to write, or the folder of an encoder')
    .addOption(
      new Option(
        '--keep-text <file>',
        'text like what the model will read and write: UTF-8, or .jsonl with a text or messages per line; repeatable',
      )
        .argParser(repeated)
        .default([], 'none, with --languages'),
    )
    .option(
      '--languages <codes>',
      'languages like en,ja,zh-Hant: with a text, its tokens in other scripts are dropped; without one, all tokens of their scripts are kept',
      (codes) => codes.split(','),
    )
    .option(
      '--keep <n>',
      "how many of the text's most frequent tokens to keep; default: all. Bytes, special tokens and the parts that tokens are merged from are kept in addition",
      whole(0),
    )
    .option(
      '--held-out <n>',
      'maximum pieces of text to hold out for comparing the result with the original',
      whole(0),
      HELD_OUT,
    )
    .addOption(threadsOption())
    .addOption(forceOption())
    .option('--name <name>', "the model's name; default: its own")
    .option('--license <text>', 'licence to record in the pack')
    .option('--json', 'print one JSON object')
  return withTableOptions(command).action(trim)
}

async function trim(model: string, output: string, flags: TrimFlags): Promise<void> {
  if (flags.keepText.length === 0 && flags.languages === undefined) {
    throw new HalfbyteError(
      'unsupported',
      'no option says which tokens to keep; give --keep-text FILE, --languages CODES, or both',
    )
  }
  await checkOutput({ model, output, force: flags.force })
  if (await isLocalEncoder(model)) return trimEncoderFolder(model, output, flags)
  checkName(output, 'hbm')
  const { made, quality } = await interruptible(async (signal) => {
    const made = await withPrepared(model, { weights: 'auto', forPack: true }, signal, (prepared) =>
      write(prepared, output, flags, signal),
    )
    if (made.held.length === 0) return { made, quality: undefined }
    return { made, quality: await judge(model, output, made, flags, signal) }
  }).finally(clearProgress)
  const { kept, before, texts, samePieces, scripts } = made
  const { size: bytes } = await stat(output)
  const summary = {
    output,
    bytes,
    tokens: { before: before.rows, after: kept.ids.length, ...kindsOf(kept) },
    scripts,
    table: { before: before.bytes, after: made.tableBytes },
    texts: { unchanged: texts, samePieces },
    quality,
  }
  process.stdout.write(flags.json === true ? `${JSON.stringify(summary)}\n` : textOf(summary))
}

interface Made {
  readonly kept: KeptTokens
  readonly before: { readonly rows: number; readonly bytes: number }
  readonly tableBytes: number
  readonly held: readonly HeldText[]
  /** Maximum number of tokens of a held-out text. */
  readonly context: number
  readonly texts: number
  readonly samePieces: number
  /** Scripts of `--languages`. */
  readonly scripts: readonly string[] | undefined
  readonly progress: TrimProgress
}

async function progressOf(prepared: PreparedModel, flags: TrimFlags): Promise<TrimProgress> {
  const { config, parameters } = prepared
  const isSolved = tableFormats(flags).head !== undefined
  return new TrimProgress({
    textBytes: await bytesOf(flags.keepText),
    parameters,
    solvedTokens: isSolved ? WINDOWS * WINDOW_TOKENS : 0,
    tableSize: isSolved ? config.vocabSize * config.hiddenSize : 0,
    held: flags.heldOut * Math.min(HELD_TOKENS, config.contextLength),
  })
}

/** The pack is not written until the trimmed tokenizer has encoded and decoded all texts. */
async function write(
  prepared: PreparedModel,
  output: string,
  flags: TrimFlags,
  signal: AbortSignal,
): Promise<Made> {
  const { keepText: files, keep, license, name, languages } = flags
  const scripts = languages && scriptsOf(languages)
  const tokenizer = modelTokenizer(prepared.file, prepared.config.vocabSize)
  const reader = readerOf(tokenizer)
  const progress = await progressOf(prepared, flags)
  const { counts, held } = await countTokens(files, reader, flags.heldOut, signal, progress.counted)
  const kept = chooseTokens(prepared, { counts, most: keep }, scripts)
  const trimmed = await trimModel(prepared, kept.ids, signal)
  const { after, proof } = roundTrip(tokenizer, trimmed, kept.ids)
  const proven = await provenTexts(files, reader, readerOf(after), proof, signal, progress.proven)
  const card = { name, about: license === undefined ? undefined : { license }, signal }
  const texts = { before: reader, after: readerOf(after) }
  const solved = await solvedTable(trimmed, texts, { flags, progress }, signal)
  const whole = await packContents(trimmed, card)
  const contents = withTables(whole, trimmed.weights, tableFormats(flags), signal, solved)
  await makeFolder(output)
  await writeOutput(output, writePack(countedContents(contents, 2, progress.written), signal), signal)
  const rows = prepared.config.vocabSize
  const bytes = tableBytesOf(await packContents(prepared, card))
  const context = Math.min(HELD_TOKENS, prepared.config.contextLength)
  const tableBytes = tableBytesOf(contents)
  const { samePieces } = proven
  const before = { rows, bytes }
  const made = { kept, before, tableBytes, held, context, samePieces, progress }
  return { ...made, texts: proven.texts, scripts: scripts?.names }
}

/**
 * Solves GPTQ codes of the logits matrix for the text's hidden states. Returns undefined if no format is
 * requested, if the matrix already has it, or if there is less than one window of text; the weights are then
 * rounded.
 */
async function solvedTable(
  trimmed: PreparedModel,
  texts: { readonly before: TextReader; readonly after: TextReader },
  { flags, progress }: { readonly flags: TrimFlags; readonly progress: TrimProgress },
  signal: AbortSignal,
): Promise<(() => Promise<Uint8Array>) | undefined> {
  const { keepText, heldOut, threads } = flags
  const { head } = tableFormats(flags)
  const encodingOf = planEncodings(trimmed)
  if (head === undefined || encodingOf(headName(trimmed)) === head) return undefined
  const length = Math.min(WINDOW_TOKENS, trimmed.config.contextLength)
  const windows = await windowsOf(keepText, texts, { heldOut, windows: WINDOWS, length }, signal)
  if (windows.length === 0) return undefined
  const { bytes } = await solveHead(trimmed, trimmed.weights, encodingOf, {
    windows,
    format: head,
    sweeps: DEFAULT_SWEEPS,
    damp: DEFAULT_DAMP,
    host: nodeHost(),
    threads,
    signal,
    solver: await loadSolver(),
    startSolver,
    onProgress: progress.solved,
  })
  return async () => bytes
}

const tableBytesOf = ({ tensors }: Awaited<ReturnType<typeof packContents>>): number =>
  tensors.reduce((sum, { name, bytes }) => sum + (TABLES.includes(name) ? bytes : 0), 0)

/** Both run in their stored encodings, because most of their matrices are the same. */
async function judge(
  model: string,
  output: string,
  { held, kept, context, progress }: Made,
  { threads }: TrimFlags,
  signal: AbortSignal,
): Promise<DivergenceAcross> {
  progress.compared(0, held.length)
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
        onText: progress.compared,
      })
    }),
  )
}
