// Writes a compressed model as .hbm, .gguf, or a folder with safetensors.
import { copyFile, type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { type PackContents, writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import { splitName } from '../../../core/formats/splits.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import {
  type FolderModel,
  prunedSafetensors,
  quantizedGguf,
  quantizedGptq,
} from '../../shrink/calibrate/foreign-files.ts'
import { systemError } from '../terminal/failure.ts'
import { writeOutput } from '../terminal/output.ts'
import { countedContents } from './counted-contents.ts'

/** Maximum number of parts, which readers enforce. */
const MAX_PARTS = 999

/** Receives the parts of a pack. */
interface Parts {
  readonly paths: readonly string[]
  readonly bytes: number
}

/**
 * Splits the bytes into `name-00001-of-00003.hbm` and so on, each of `partBytes` except the last. A pack that
 * fits into one part stays `name.hbm`. Files appear under their names once all are complete. `totalBytes`:
 * size of the whole pack, known from its first bytes. Throws `unsupported` for too many parts or a path that
 * cannot be written, `storage-full`, or the signal's reason.
 */
export async function writeParts(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
  totalBytes: (head: Uint8Array) => number,
  signal?: AbortSignal,
): Promise<Parts> {
  let paths: readonly string[] = []
  let file: FileHandle | undefined
  let bytes = 0
  const begun: string[] = []
  try {
    for await (const chunk of chunks) {
      if (paths.length === 0) paths = partPaths(path, totalBytes(chunk), partBytes)
      for (let at = 0; at < chunk.length; ) {
        signal?.throwIfAborted()
        if (bytes === begun.length * partBytes) {
          await file?.close()
          const partial = `${paths[begun.length]}.part`
          begun.push(partial)
          file = await open(partial, 'w')
        }
        const count = Math.min(chunk.length - at, begun.length * partBytes - bytes)
        await file?.writeFile(chunk.subarray(at, at + count))
        at += count
        bytes += count
      }
    }
    signal?.throwIfAborted()
    await file?.close()
    for (const each of paths) {
      await rename(`${each}.part`, each)
      begun.push(each)
    }
    return { paths, bytes }
  } catch (error) {
    await file?.close().catch(() => undefined)
    for (const each of begun) await rm(each, { force: true }).catch(() => undefined)
    signal?.throwIfAborted()
    throw systemError(error, 'unsupported', `${path} cannot be written`, 'choose another place')
  }
}

function partPaths(path: string, totalBytes: number, partBytes: number): readonly string[] {
  const count = Math.ceil(totalBytes / partBytes)
  if (count <= 1) return [path]
  if (count > MAX_PARTS) {
    const least = Math.ceil(totalBytes / MAX_PARTS)
    throw new HalfbyteError(
      'unsupported',
      `the pack has ${totalBytes} bytes, which need ${count} parts of ${partBytes} bytes, but the limit is ${MAX_PARTS} parts; ` +
        `make parts of at least ${least} bytes`,
      { totalBytes, count },
    )
  }
  const first = `${path.replace(/\.hbm$/, '')}-00001-of-00001.hbm`
  return Array.from({ length: count }, (_, index) => splitName(first, index + 1, count))
}

export const WEIGHTS_FILE = 'model.safetensors'

/**
 * Files next to the weights: configuration and tokenizer. Not the index, which names files that are not
 * written.
 */
const COPIED = /^(?!.*\.index\.json$)(?!config\.json$).*\.(json|jinja|model|txt)$/

export interface ModelOutput {
  /** `<model>` as typed. */
  readonly model: string
  readonly output: string
  readonly as: 'hbm' | 'gguf' | 'gptq' | 'safetensors'
  readonly prepared: PreparedModel
  readonly contents: PackContents
  /** For `safetensors`: F32 rows that replace matrices, by canonical name. */
  readonly tensors?: ReadonlyMap<string, TensorInfo> | undefined
  readonly signal: AbortSignal
  /** Bytes of the weights that have been read to be written, and their total. */
  readonly onBytes: (done: number, total: number) => void
}

/** Throws the writers' errors, `storage-full`, or the signal's reason. */
export async function writeModel(target: ModelOutput): Promise<void> {
  const { output, as, prepared, tensors = new Map(), signal, onBytes } = target
  // A pack's tensors are read for their hashes, and again for the file.
  const contents = countedContents(target.contents, as === 'hbm' ? 2 : 1, onBytes)
  if (as === 'gguf') await writeOutput(output, quantizedGguf(prepared, contents, signal), signal)
  else if (as === 'hbm') await writeOutput(output, writePack(contents, signal), signal)
  else if (as === 'safetensors') await writeFolder(target, () => prunedSafetensors(prepared, tensors, signal))
  else await writeFolder(target, () => quantizedGptq(prepared, contents, signal))
}

/** config.json is written last: a folder without it is not a model. */
async function writeFolder(
  { model, output, signal }: ModelOutput,
  make: () => Promise<FolderModel>,
): Promise<void> {
  const isFolder = await stat(model).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) {
    throw new HalfbyteError(
      'unsupported',
      `${model} is not a local folder, and an output folder copies configuration and tokenizer from one; download the model's folder first, or write a .hbm`,
    )
  }
  const { config: changes, data } = await make()
  try {
    await mkdir(output, { recursive: true })
    for (const name of await readdir(model))
      if (COPIED.test(name)) await copyFile(join(model, name), join(output, name))
  } catch (error) {
    throw systemError(error, 'unsupported', `${output} cannot be written`, 'choose another place')
  }
  await writeOutput(join(output, WEIGHTS_FILE), data, signal)
  const config = parseJson(await readFile(join(model, 'config.json'), 'utf8')) as object
  const text = JSON.stringify({ ...config, ...changes }, undefined, 2)
  await writeOutput(join(output, 'config.json'), [new TextEncoder().encode(`${text}\n`)], signal)
}
