// `convert` to GGUF: its options and its output file.
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { GgufDType } from '../../shrink/gguf/gguf-tensors.ts'
import { modelGguf } from '../../shrink/gguf/model-gguf.ts'
import { withPrepared } from '../models/model.ts'
import type { EngineFlags } from '../options.ts'
import { writeOutput } from '../terminal/output.ts'
import { makeFolder } from './check-output.ts'
import { checkLlamaCpp, DEFAULT_PYTHON, isKQuant, K_QUANTS, type KQuant, writeKQuants } from './k-quants.ts'

const DTYPES = { f32: 'F32', f16: 'F16', q8_0: 'Q8_0', q4_0: 'Q4_0' } as const satisfies Record<
  string,
  GgufDType
>

export type GgufFormat = keyof typeof DTYPES | KQuant

const FORMATS: readonly string[] = [...Object.keys(DTYPES), ...K_QUANTS]

const DEFAULT_FORMAT = 'f16'

export const ggufFormatOption = (): Option =>
  new Option(
    '--format <type>',
    `for a .gguf output made from a safetensors folder: the type of its matrices; default: ${DEFAULT_FORMAT}. K-quants (q2_k to q6_k) are written by the Python package llama-cpp-python`,
  ).choices(FORMATS)

export const pythonOption = (): Option =>
  new Option('--python <program>', `the Python that writes K-quants; default: ${DEFAULT_PYTHON}`)

export const isGguf = (output: string): boolean => /\.gguf$/i.test(output)

/** Options for packs only. */
const PACK_OPTIONS = ['weights', 'sparse', 'shardSize', 'verbose'] as const

/** Options for GGUF only. */
const GGUF_OPTIONS = ['format', 'python'] as const

/**
 * Throws `unsupported` for an option that belongs to the other output format, and for an unneeded --python.
 */
export function checkGgufOptions(output: string, command: Command): void {
  const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli'
  const wrong = (isGguf(output) ? PACK_OPTIONS : GGUF_OPTIONS).find(isGiven)
  if (wrong === undefined) {
    checkPython(command.opts<GgufFlags>())
    return
  }
  const flag = `--${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  throw new HalfbyteError(
    'unsupported',
    isGguf(output)
      ? `${output} is GGUF, and ${flag} is for .hbm packs; choose its matrices with --format ${FORMATS.join(', ')}, or write a .hbm`
      : `${output} is a .hbm pack, and ${flag} is for GGUF; choose --weights, or end the output with .gguf`,
    { output, option: flag },
  )
}

function checkPython({ format = DEFAULT_FORMAT, python }: GgufFlags): void {
  if (python === undefined || isKQuant(format)) return
  throw new HalfbyteError(
    'unsupported',
    `--python is for K-quants, and ${format} needs no Python; omit it, or choose --format ${K_QUANTS.join(', ')}`,
    { format, python },
  )
}

interface GgufFlags extends Pick<EngineFlags, 'lora'> {
  readonly format?: GgufFormat
  readonly python?: string
  readonly name?: string
  readonly license?: string
}

/** A folder's files are named `model`, so the folder's name is more informative. */
const modelNameOf = (model: string): string => basename(resolve(model))

/** Returns the file's size in bytes. Throws what opening, `modelGguf`, `checkLlamaCpp` and writing throw. */
export async function convertToGguf(
  model: string,
  output: string,
  { format = DEFAULT_FORMAT, python = DEFAULT_PYTHON, name, license, lora }: GgufFlags,
  signal: AbortSignal,
): Promise<number> {
  const llama = isKQuant(format) ? { format, python } : undefined
  const dtype = isKQuant(format) ? 'F16' : DTYPES[format]
  if (llama !== undefined) await checkLlamaCpp(llama, signal)
  return withPrepared(model, { weights: 'f32', forPack: true, lora }, signal, async (prepared) => {
    const chunks = modelGguf(prepared, { dtype, name: name ?? modelNameOf(model), license, signal })
    await makeFolder(output)
    if (llama === undefined) await writeOutput(output, chunks, signal)
    else await writeKQuants(output, chunks, llama, signal)
    return (await stat(output)).size
  })
}
