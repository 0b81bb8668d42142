// Writing quantised models. In: a pack's contents, the model they were made of. Out: a .hbm, a .gguf, or a
// folder of GPTQ's kind.
import { copyFile, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { quantizedGguf, quantizedGptq } from '../../engine/calibrate/foreign-files.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import { type PackContents, writePack } from '../../formats/hbm/hbm-writer.ts'
import { systemError } from '../terminal/failure.ts'
import { writeOutput } from '../terminal/output.ts'

export const GPTQ_FILE = 'model.safetensors'

/** Files beside the weights: configuration and tokenizer. The index names files that are not written. */
const COPIED = /^(?!.*\.index\.json$)(?!config\.json$).*\.(json|jinja|model|txt)$/

export interface ModelOutput {
  /** `<model>` as typed. */
  readonly model: string
  readonly output: string
  readonly as: 'hbm' | 'gguf' | 'gptq'
  readonly prepared: PreparedModel
  readonly contents: PackContents
  readonly signal: AbortSignal
}

/** Throws what the writers throw, `storage-full`, or the signal's reason. */
export async function writeModel(target: ModelOutput): Promise<void> {
  const { output, as, prepared, contents, signal } = target
  if (as === 'gptq') await writeGptq(target)
  else {
    const chunks = as === 'gguf' ? quantizedGguf(prepared, contents, signal) : writePack(contents, signal)
    await writeOutput(output, chunks, signal)
  }
}

/** config.json comes last: a folder without it is no model. */
async function writeGptq({ model, output, prepared, contents, signal }: ModelOutput): Promise<void> {
  const isFolder = await stat(model).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) {
    throw new HalfbyteError(
      'unsupported',
      `${model} is no folder on this machine, and GPTQ output copies configuration and tokenizer from one; download the model's folder first, or write a .hbm`,
    )
  }
  const { quantization, data } = await quantizedGptq(prepared, contents, signal)
  try {
    await mkdir(output, { recursive: true })
    for (const name of await readdir(model))
      if (COPIED.test(name)) await copyFile(join(model, name), join(output, name))
  } catch (error) {
    throw systemError(error, 'unsupported', `${output} cannot be written`, 'choose another place')
  }
  await writeOutput(join(output, GPTQ_FILE), data, signal)
  const config = parseJson(await readFile(join(model, 'config.json'), 'utf8')) as object
  const text = JSON.stringify({ ...config, quantization_config: quantization }, undefined, 2)
  await writeOutput(join(output, 'config.json'), [new TextEncoder().encode(`${text}\n`)], signal)
}
