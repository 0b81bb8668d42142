// `halfbyte trim` for sentence encoders and rerankers. In: a folder of safetensors. Out: a smaller folder in
// the same layout.
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { cosine } from '../../../core/base/cosine.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { isObject, type JsonObject } from '../../../core/base/values.ts'
import { type InnerPath, pathInside } from '../../../core/formats/names/named-files.ts'
import { openFiles } from '../../../core/formats/open-files.ts'
import { writeSafetensors } from '../../../core/formats/safetensors/safetensors.ts'
import type { EncoderTokenizer } from '../../../core/text/tokenize/read/encoder-tokenizer.ts'
import { scriptsOf } from '../../shrink/vocabulary/languages.ts'
import {
  isEncoder,
  type OpenEncoder,
  openEncoder,
  type TrimmedEncoder,
  trimEncoder,
  trimmedConfig,
  trimmedTensors,
} from '../../shrink/vocabulary/trim-encoder.ts'
import { openEmbedder } from '../command-embedder.ts'
import { openModelFiles, placeOf } from '../files.ts'
import { isUrl } from '../hub-here.ts'
import { nodeHost } from '../node-host.ts'
import { interruptible, systemError } from '../terminal/failure.ts'
import { clearProgress, overwrite, writeOutput } from '../terminal/output.ts'
import { WEIGHTS_FILE } from '../write/write-model.ts'
import type { TrimFlags } from './trim-flags.ts'
import { bytesOf, TrimProgress } from './trim-progress.ts'
import { type EncoderSummary, encoderText, kindsOf, type Likeness } from './trim-text.ts'
import { countTokens, type HeldText, provenTexts, type TextReader } from './trim-texts.ts'

/** Files that are rewritten, and files about the old vocabulary. */
const REPLACED =
  /^(config|tokenizer|tokenizer_config|vocab|added_tokens)\.json$|\.index\.json$|^(vocab|merges)\.txt$|\.model$|\.safetensors$/
const COPIED = /\.(json|jinja|txt|md)$|^LICEN[CS]E/

/** Whether `<model>` is an encoder on this machine. Models at URLs are read as chat models. */
export async function isLocalEncoder(model: string): Promise<boolean> {
  const place = await placeOf(model)
  if (isUrl(place)) return false
  const files = await openModelFiles(model).catch(() => undefined)
  if (files === undefined) return false
  try {
    const file = await openFiles(files.sources, nodeHost()).catch(() => undefined)
    return file !== undefined && isEncoder(file, await hasModules(model))
  } finally {
    await files.close()
  }
}

const hasModules = (folder: string): Promise<boolean> =>
  stat(join(folder, 'modules.json')).then(
    () => true,
    () => false,
  )

/** Throws `unsupported` for options and outputs that encoders do not support. */
export async function trimEncoderFolder(model: string, output: string, flags: TrimFlags): Promise<void> {
  checkFlags(output, flags)
  const summary = await interruptible((signal) => trimmed(model, output, flags, signal)).finally(
    clearProgress,
  )
  process.stdout.write(flags.json === true ? `${JSON.stringify(summary)}\n` : encoderText(summary))
}

function checkFlags(output: string, { table, head, name, license }: TrimFlags): void {
  const given = Object.entries({ table, head, name, license }).find(([, value]) => value !== undefined)
  if (given !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      `--${given[0]} is for packs, and an encoder is written as a folder in its own precision; omit it`,
    )
  }
  if (/\.(hbm|gguf|safetensors)$/.test(output)) {
    throw new HalfbyteError(
      'unsupported',
      `${output} is a file name, but an encoder is written as a folder; give a folder`,
      { output },
    )
  }
}

async function trimmed(
  model: string,
  output: string,
  flags: TrimFlags,
  signal: AbortSignal,
): Promise<EncoderSummary> {
  const files = await openModelFiles(model, { signal })
  try {
    const open = openEncoder(await openFiles(files.sources, nodeHost(), signal))
    const reader = readerOf(open.encoder)
    const scripts = flags.languages && scriptsOf(flags.languages)
    const progress = new TrimProgress({
      textBytes: await bytesOf(flags.keepText),
      parameters: open.rows,
      solvedTokens: 0,
      tableSize: 0,
      held: 0,
    })
    const { counts, held } = await countTokens(
      flags.keepText,
      reader,
      flags.heldOut,
      signal,
      progress.counted,
    )
    const made = trimEncoder(open, { counts, most: flags.keep }, scripts)
    const { kept, proof, tokenizer } = made
    const found = await provenTexts(
      flags.keepText,
      reader,
      readerOf(tokenizer),
      proof,
      signal,
      progress.proven,
    )
    overwrite('writing')
    const { bytes, table } = await writeFolder(model, output, open, made, signal)
    return {
      output,
      bytes,
      tokens: { before: open.rows, after: kept.ids.length, ...kindsOf(kept) },
      scripts: scripts?.names,
      table,
      texts: { unchanged: found.texts, samePieces: found.samePieces, foreign: found.foreign },
      likeness: await likenessOf(model, output, held, flags, signal),
    }
  } finally {
    await files.close()
  }
}

const readerOf = ({ encode }: EncoderTokenizer): TextReader => ({
  tokenizer: undefined,
  idsOf: ({ text }) => encode(text),
})

/** config.json is written last: a folder without it is not a model. */
async function writeFolder(
  model: string,
  output: string,
  open: OpenEncoder,
  { spec, kept }: TrimmedEncoder,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly table: EncoderSummary['table'] }> {
  const json = async (name: string, value: unknown) => {
    const text = `${JSON.stringify(value, undefined, 2)}\n`
    await writeOutput(join(output, name), [new TextEncoder().encode(text)], signal)
  }
  const { tensors, before, after } = await trimmedTensors(open, kept, signal)
  await copyOthers(model, output)
  await writeOutput(join(output, WEIGHTS_FILE), writeSafetensors(tensors, signal), signal)
  await json('tokenizer.json', spec.tokenizer)
  if (spec.config !== undefined) await json('tokenizer_config.json', spec.config)
  const config = parseJson(await readFile(join(model, 'config.json'), 'utf8'))
  await json('config.json', trimmedConfig(config as JsonObject, kept))
  const { size: bytes } = await stat(join(output, WEIGHTS_FILE))
  return { bytes, table: { before, after } }
}

/**
 * Copies the folder's settings and the folders named in modules.json. Throws `unsupported` or
 * `storage-full`.
 */
async function copyOthers(model: string, output: string): Promise<void> {
  try {
    await mkdir(output, { recursive: true })
    const names = (await readdir(model)).filter((name) => COPIED.test(name) && !REPLACED.test(name))
    for (const name of [...names, ...(await modulePaths(model))])
      await cp(join(model, name), join(output, name), { recursive: true })
  } catch (error) {
    throw systemError(error, 'unsupported', `${output} cannot be written`, 'choose another place')
  }
}

async function modulePaths(model: string): Promise<readonly InnerPath[]> {
  if (!(await hasModules(model))) return []
  const modules = parseJson(await readFile(join(model, 'modules.json'), 'utf8'))
  const paths = (Array.isArray(modules) ? modules.filter(isObject) : []).map(({ path }) => path)
  const found = await readdir(model)
  // A module without weights, such as Normalize, may have no folder.
  return paths
    .filter((path): path is string => typeof path === 'string' && found.includes(path))
    .map((path) => pathInside(path, 'modules.json'))
}

/** Returns undefined without held-out texts, and for a reranker, which makes no vectors. */
async function likenessOf(
  model: string,
  output: string,
  held: readonly HeldText[],
  { threads }: TrimFlags,
  signal: AbortSignal,
): Promise<Likeness | undefined> {
  if (held.length === 0) return undefined
  const vectorsOf = async (place: string) => {
    await using embedder = await openEmbedder(place, { threads, weights: 'auto' }, signal)
    if (embedder.model.task === 'rerank') return undefined
    const { vectors } = await embedder.embed(
      held.map(({ text }) => text),
      { signal },
    )
    return vectors
  }
  const own = await vectorsOf(model)
  const newer = own && (await vectorsOf(output))
  if (own === undefined || newer === undefined) return undefined
  const cosines = own.map((vector, at) => cosine(vector, newer[at] as Float32Array))
  const mean = cosines.reduce((sum, each) => sum + each, 0) / cosines.length
  return { texts: held.length, mean, least: Math.min(...cosines) }
}
