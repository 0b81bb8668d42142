// `convert` to a folder with safetensors.
import { join } from 'node:path'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { type FolderDType, modelFolder } from '../../shrink/folder/model-folder.ts'
import { withPrepared } from '../models/model.ts'
import type { EngineFlags } from '../options.ts'
import { writeOutput } from '../terminal/output.ts'
import { makeFolder } from './check-output.ts'
import { countedChunks, writingProgress } from './counted-contents.ts'
import { WEIGHTS_FILE } from './write-model.ts'

interface FolderFlags extends Pick<EngineFlags, 'lora'> {
  readonly format?: string
}

/** Returns the bytes of the weights. Throws what opening, `modelFolder` and writing throw. */
export async function convertToFolder(
  model: string,
  output: string,
  { format, lora }: FolderFlags,
  signal: AbortSignal,
): Promise<number> {
  return withPrepared(model, { weights: 'f32', forPack: true, lora }, signal, async (prepared) => {
    const { file } = prepared
    if (file.format === 'safetensors' && lora === undefined && format === undefined) {
      throw new HalfbyteError(
        'unsupported',
        `${file.name} is a folder with safetensors already; choose another type for its matrices with --format f32, f16 or bf16, or merge an adapter with --lora`,
        { output },
      )
    }
    const dtype = format?.toUpperCase() as FolderDType | undefined
    return writeModelFolder(prepared, output, { dtype, signal, onBytes: writingProgress() })
  })
}

interface ModelFolderOptions {
  readonly dtype?: FolderDType | undefined
  readonly signal: AbortSignal
  /** Bytes of the weights that have been written, and their total. */
  readonly onBytes: (done: number, total: number) => void
}

/** Writes config.json last; returns the bytes of the weights. Throws what `modelFolder` and writing throw. */
export async function writeModelFolder(
  prepared: PreparedModel,
  output: string,
  { dtype, signal, onBytes }: ModelFolderOptions,
): Promise<number> {
  const { json, bytes, chunks } = await modelFolder(prepared, { dtype, signal })
  await makeFolder(output, output)
  await writeOutput(join(output, WEIGHTS_FILE), countedChunks(chunks, bytes, onBytes), signal)
  for (const [name, value] of json) {
    const text = `${JSON.stringify(value, undefined, 2)}\n`
    await writeOutput(join(output, name), [new TextEncoder().encode(text)], signal)
  }
  return bytes
}
