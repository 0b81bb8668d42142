// `convert` to GGUF: its options, and the file that is written.
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { HalfbyteError } from '../../base/errors.ts'
import type { GgufDType } from '../../shrink/gguf/gguf-tensors.ts'
import { modelGguf } from '../../shrink/gguf/model-gguf.ts'
import { withPrepared } from '../model.ts'
import type { EngineFlags } from '../options.ts'
import { writeOutput } from '../terminal/output.ts'
import { makeFolder } from './check-output.ts'

const DTYPES = { f32: 'F32', f16: 'F16', q8_0: 'Q8_0', q4_0: 'Q4_0' } as const satisfies Record<
  string,
  GgufDType
>

export type GgufFormat = keyof typeof DTYPES

const DEFAULT_FORMAT: GgufFormat = 'f16'

export const ggufFormatOption = (): Option =>
  new Option(
    '--format <type>',
    `for an output that ends in .gguf, made of a folder with safetensors: what matrices are stored in; default: ${DEFAULT_FORMAT}`,
  ).choices(Object.keys(DTYPES))

export const isGguf = (output: string): boolean => /\.gguf$/i.test(output)

/** Options that only packs have. */
const PACK_OPTIONS = ['weights', 'sparse', 'shardSize', 'verbose'] as const

/** Throws `unsupported` for an option of the other kind of output. */
export function checkGgufOptions(output: string, command: Command): void {
  const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli'
  const wrong = isGguf(output) ? PACK_OPTIONS.find(isGiven) : isGiven('format') ? 'format' : undefined
  if (wrong === undefined) return
  const flag = `--${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  throw new HalfbyteError(
    'unsupported',
    isGguf(output)
      ? `${output} is GGUF, and ${flag} is for .hbm packs; choose its matrices with --format ${Object.keys(DTYPES).join(', ')}, or write a .hbm`
      : `${output} is a .hbm pack, and ${flag} is for GGUF; choose --weights, or end the output with .gguf`,
    { output, option: flag },
  )
}

export interface GgufFlags extends Pick<EngineFlags, 'lora'> {
  readonly format?: GgufFormat
  readonly name?: string
  readonly license?: string
}

/** A folder's files are named `model`, so the name of the folder says more. */
const modelNameOf = (model: string): string => basename(resolve(model))

/** Throws what opening, `modelGguf` and writing throw. Returns the file's bytes. */
export function convertToGguf(
  model: string,
  output: string,
  { format = DEFAULT_FORMAT, name, license, lora }: GgufFlags,
  signal: AbortSignal,
): Promise<number> {
  return withPrepared(model, { weights: 'f32', forPack: true, lora }, signal, async (prepared) => {
    const options = { dtype: DTYPES[format], name: name ?? modelNameOf(model), license, signal }
    await makeFolder(output)
    await writeOutput(output, modelGguf(prepared, options), signal)
    return (await stat(output)).size
  })
}
