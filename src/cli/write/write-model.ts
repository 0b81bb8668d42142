// Writing compressed models. In: a pack's contents, the model they were made of. Out: a .hbm, a .gguf, or a
// folder with safetensors.
import { copyFile, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import { type PackContents, writePack } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import {
  type FolderModel,
  prunedSafetensors,
  quantizedGguf,
  quantizedGptq,
} from '../../shrink/calibrate/foreign-files.ts'
import { systemError } from '../terminal/failure.ts'
import { writeOutput } from '../terminal/output.ts'

export const WEIGHTS_FILE = 'model.safetensors'

/** Files beside the weights: configuration and tokenizer. The index names files that are not written. */
const COPIED = /^(?!.*\.index\.json$)(?!config\.json$).*\.(json|jinja|model|txt)$/

export interface ModelOutput {
  /** `<model>` as typed. */
  readonly model: string
  readonly output: string
  readonly as: 'hbm' | 'gguf' | 'gptq' | 'safetensors'
  readonly prepared: PreparedModel
  readonly contents: PackContents
  /** For `safetensors`: rows of F32 that take the place of matrices, by canonical name. */
  readonly tensors?: ReadonlyMap<string, TensorInfo> | undefined
  readonly signal: AbortSignal
}

/** Throws what the writers throw, `storage-full`, or the signal's reason. */
export async function writeModel(target: ModelOutput): Promise<void> {
  const { output, as, prepared, contents, tensors = new Map(), signal } = target
  if (as === 'gguf') await writeOutput(output, quantizedGguf(prepared, contents, signal), signal)
  else if (as === 'hbm') await writeOutput(output, writePack(contents, signal), signal)
  else if (as === 'safetensors') await writeFolder(target, () => prunedSafetensors(prepared, tensors, signal))
  else await writeFolder(target, () => quantizedGptq(prepared, contents, signal))
}

/** config.json comes last: a folder without it is no model. */
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
      `${model} is no folder on this machine, and a folder as output copies configuration and tokenizer from one; download the model's folder first, or write a .hbm`,
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
