// `convert` to GGUF: its options and its output file.
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import type { GgufDType } from '../../shrink/gguf/gguf-tensors.ts'
import { type GgufOutput, modelGguf } from '../../shrink/gguf/model-gguf.ts'
import { requantizedGguf } from '../../shrink/gguf/requantize-gguf.ts'
import { withPrepared } from '../models/model.ts'
import type { EngineFlags } from '../options.ts'
import { DEFAULT_PYTHON } from '../run-python.ts'
import { note } from '../terminal/notes.ts'
import { writeOutput } from '../terminal/output.ts'
import { makeFolder } from './check-output.ts'
import { countedChunks, writingProgress } from './counted-contents.ts'
import { checkLlamaCpp, isKQuant, K_QUANTS, type KQuant, writeKQuants } from './k-quants.ts'

const DTYPES = {
  f32: 'F32',
  f16: 'F16',
  bf16: 'BF16',
  q8_0: 'Q8_0',
  q4_1: 'Q4_1',
  q4_0: 'Q4_0',
} as const satisfies Record<string, GgufDType>

export type GgufFormat = keyof typeof DTYPES | KQuant

const FORMATS: readonly string[] = [...Object.keys(DTYPES), ...K_QUANTS]

const DEFAULT_FORMAT = 'f16'

export const ggufFormatOption = (): Option =>
  new Option(
    '--format <type>',
    `for a .gguf output: the type of its matrices; default: ${DEFAULT_FORMAT}, or a pack's own codes; required for a GGUF model. K-quants (q2_k to q6_k) are written by the Python package llama-cpp-python. For safetensors: f32, f16 or bf16`,
  ).choices(FORMATS)

export const pythonOption = (): Option =>
  new Option('--python <program>', `the Python that writes K-quants; default: ${DEFAULT_PYTHON}`)

/** What `convert` writes. */
export type ConvertTarget = 'hbm' | 'gguf' | 'safetensors'

export const targetOption = (): Option =>
  new Option(
    '--as <kind>',
    "what to write; default: from the output's name, a .hbm, a .gguf, or a folder with safetensors if it ends with a slash",
  ).choices(['hbm', 'gguf', 'safetensors'] satisfies ConvertTarget[])

/** The target that the output's name implies. */
export function targetOf(output: string): ConvertTarget {
  if (/\.gguf$/i.test(output)) return 'gguf'
  return /[\\/]$/.test(output) ? 'safetensors' : 'hbm'
}

/** The options that only some targets have, and which. */
const OPTIONS: ReadonlyMap<string, readonly ConvertTarget[]> = new Map([
  ['weights', ['hbm']],
  ['sparse', ['hbm']],
  ['shardSize', ['hbm']],
  ['verbose', ['hbm']],
  ['format', ['gguf', 'safetensors']],
  ['python', ['gguf']],
  ['name', ['hbm', 'gguf']],
  ['license', ['hbm', 'gguf']],
])

const TARGETS: Readonly<Record<ConvertTarget, { readonly what: string; readonly next: string }>> = {
  hbm: { what: 'a .hbm pack', next: 'choose --weights, or end the output with .gguf' },
  gguf: { what: 'GGUF', next: `choose its matrices with --format ${FORMATS.join(', ')}, or write a .hbm` },
  safetensors: {
    what: 'a folder with safetensors',
    next: 'choose its matrices with --format f32, f16 or bf16, or write a .hbm',
  },
}

/** The unquantized types, which safetensors also have. */
const FLOATS: readonly string[] = ['f32', 'f16', 'bf16'] satisfies GgufFormat[]

/** Throws `unsupported` for an option that belongs to another target, and for an unneeded --python. */
export function checkTarget(output: string, target: ConvertTarget, command: Command): void {
  const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli'
  const { format } = command.opts<GgufFlags>()
  const isOther = target === 'safetensors' && format !== undefined && !FLOATS.includes(format)
  const wrong = isOther
    ? (['format', ['gguf']] as const)
    : [...OPTIONS].find(([name, targets]) => isGiven(name) && !targets.includes(target))
  if (wrong === undefined) {
    if (target === 'gguf') checkPython(command.opts<GgufFlags>())
    return
  }
  const [option, homes] = wrong
  const flag = `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}${isOther ? ` ${format}` : ''}`
  const others = homes.map((each) => (each === 'hbm' ? '.hbm packs' : each === 'gguf' ? 'GGUF' : 'folders'))
  const { what, next } = TARGETS[target]
  throw new HalfbyteError(
    'unsupported',
    `${output} is ${what}, and ${flag} is for ${others.join(' and ')}; ${next}`,
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

/**
 * Returns the file's size in bytes. Throws what opening, `modelGguf`, `requantizedGguf`, `checkLlamaCpp` and
 * writing throw.
 */
export async function convertToGguf(
  model: string,
  output: string,
  flags: GgufFlags,
  signal: AbortSignal,
): Promise<number> {
  const { format, python = DEFAULT_PYTHON, lora } = flags
  const llama = format !== undefined && isKQuant(format) ? { format, python } : undefined
  if (llama !== undefined) await checkLlamaCpp(llama, signal)
  return withPrepared(model, { weights: 'f32', forPack: true, lora }, signal, async (prepared) => {
    const { bytes, chunks } = await ggufOf(model, prepared, flags, signal)
    await makeFolder(output)
    const counted = countedChunks(chunks, bytes, writingProgress())
    if (llama === undefined) await writeOutput(output, counted, signal)
    else await writeKQuants(output, counted, llama, signal)
    return (await stat(output)).size
  })
}

async function ggufOf(
  model: string,
  prepared: PreparedModel,
  { format, name, license, lora }: GgufFlags,
  signal: AbortSignal,
): Promise<GgufOutput> {
  const { file } = prepared
  const dtype = format === undefined || isKQuant(format) ? undefined : DTYPES[format]
  if (file.format !== 'gguf') {
    const usual = file.format === 'hbm' && format === undefined ? 'keep' : DTYPES[DEFAULT_FORMAT]
    const title = name ?? (file.format === 'safetensors' ? modelNameOf(model) : file.name)
    return modelGguf(prepared, { dtype: dtype ?? usual, name: title, license, signal })
  }
  const extra = Object.entries({ lora, name, license }).find(([, value]) => value !== undefined)
  if (extra !== undefined || format === undefined) {
    throw new HalfbyteError(
      'unsupported',
      format === undefined
        ? `${file.name} is GGUF already; choose another type for its matrices with --format ${FORMATS.join(', ')}`
        : `${file.name} is GGUF and keeps its metadata, so --${extra?.[0]} cannot be applied; omit it, or write a .hbm`,
      { output: file.name },
    )
  }
  const made = await requantizedGguf(prepared, dtype ?? DTYPES[DEFAULT_FORMAT], signal)
  if (made.rounded.length > 0)
    note(
      `weights in ${made.rounded.join(', ')} are rounded again; the original weights would give better codes`,
    )
  return made
}
