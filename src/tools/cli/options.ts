// The options that commands share, and parsers of their values. An invalid text is a usage error.

import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { NumberKind } from '../../core/base/options/option-kinds.ts'
import type { GraphDtype } from '../../core/formats/names/graph-files.ts'
import { EXACT_KV, KEY_FORMATS, type KvFormat, VALUE_FORMATS } from '../../core/graph/ir.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import type { SparsePolicy } from '../../core/weights/sparse/choose-sparse.ts'
import { LOAD_OPTIONS, mostThreads } from '../../engine/api/request/load-options.ts'
import { NETWORK_FALLBACKS, NETWORK_WEIGHTS } from '../../network/compile/lower/policy.ts'
import { EMBEDDED_NAMES } from './models/embedded.ts'
import { NO_STORE } from './store/node-store.ts'

const MANIFEST = import.meta.url.endsWith('.ts') ? '../../../package.json' : '../package.json'

export const packageVersion = (): string =>
  JSON.parse(readFileSync(new URL(MANIFEST, import.meta.url), 'utf8')).version

/** The description of `<model>` in each command. */
export const MODEL = `file, folder, URL (with a trailing slash for a folder), a name from "halfbyte models" or owner/name[:file][@revision] on the hub if no such path exists, or an embedded model: ${EMBEDDED_NAMES}`

/** A parser for integers from `least` to `most`. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isSafeInteger(value) && value >= least && value <= most && text.trim() !== '') return value
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
    throw new InvalidArgumentError(`give a whole number ${range}.`)
  }
}

/** `auto`, or a number of threads that this machine allows. */
const threadCount = (text: string): number | 'auto' =>
  text === 'auto' ? text : whole(1, mostThreads())(text)

/** A parser for numbers from `least` to `most`. */
export function real(least: number, most = Number.POSITIVE_INFINITY): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isFinite(value) && value >= least && value <= most && text.trim() !== '') return value
    const range = most === Number.POSITIVE_INFINITY ? `of at least ${least}` : `from ${least} to ${most}`
    throw new InvalidArgumentError(`give a number ${range}.`)
  }
}

/** The parser of an option that the API also has, with its range; a range above 0 includes 0 here. */
export const parserOf = ({ least, most, isWhole }: NumberKind): ((text: string) => number) =>
  isWhole
    ? whole(least, Math.min(most, Number.MAX_SAFE_INTEGER))
    : real(least === Number.MIN_VALUE ? 0 : least, most === Number.MAX_VALUE ? undefined : most)

const UNITS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    '': 1,
    KB: 1e3,
    MB: 1e6,
    GB: 1e9,
    KIB: 2 ** 10,
    MIB: 2 ** 20,
    GIB: 2 ** 30,
  }),
)

/** The parser of a repeatable option. */
export const repeated = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]

/** A parser for sizes, at least `least` bytes: `64MB`, `1.5 GiB`, or bytes without a unit. */
export function size(least: number): (text: string) => number {
  return (text) => {
    const [, number = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text) ?? []
    const bytes = Math.floor(Number(number) * (UNITS.get(unit.toUpperCase()) ?? Number.NaN))
    if (number !== '' && Number.isSafeInteger(bytes) && bytes >= least) return bytes
    throw new InvalidArgumentError(`give a size of ${least} bytes or more, like 64MB, 0.5GB or 64MiB.`)
  }
}

/**
 * A hook for commands with a required option. Commander checks `requiredOption` before unknown options, so
 * it would report a misspelled option as missing.
 */
export const demand =
  (option: string) =>
  (command: Command): void => {
    if (command.getOptionValue(new Option(option).attributeName()) === undefined)
      command.error(`error: required option '${option}' not specified`)
  }

/** Options for loading a model. */
export interface EngineFlags {
  readonly threads: number | 'auto'
  readonly build: 'auto' | 'relaxed' | 'simd128'
  readonly weights: WeightPolicy
  /** How keys and values are stored. */
  readonly kv: KvFormat
  readonly context?: number
  /** Maximum bytes for the state of all conversations together. */
  readonly stateBytes?: number
  readonly lora?: readonly LoraFlag[]
  /** A file with a chat template. */
  readonly chatTemplate?: string
  /** Which ONNX graph to open if a model has several precisions. */
  readonly dtype?: GraphDtype
  /** Reads the model as one of this family. */
  readonly architecture?: string
}

export interface LoraFlag {
  readonly source: string
  readonly scale: number
}

/** `--lora`, once for each adapter. */
export function loraOption(): Option {
  return new Option(
    '--lora <adapter[:scale]>',
    "a LoRA adapter to merge into the model: a GGUF file, a PEFT folder, its URL or owner/name; scale 1 is the adapter's own",
  ).argParser((text, before: readonly LoraFlag[] = []) => {
    const [, source = text, scale = '1'] = /^(.+):(-?[\d.]+)$/.exec(text) ?? []
    if (!Number.isFinite(Number(scale))) throw new InvalidArgumentError('give a scale like 0.5.')
    return [...before, { source, scale: Number(scale) }]
  })
}

export function weightsOption(): Option {
  return new Option('--weights <policy>', "precision of the weights; auto keeps the file's own")
    .choices(LOAD_OPTIONS.weights.choices)
    .default(LOAD_OPTIONS.weights.default)
}

/** For graphs that are not decoders. */
export function networkWeightsOption(): Option {
  return new Option(
    '--weights <policy>',
    "how to multiply by constant matrices; auto keeps the file's own codes, and floats as f32",
  )
    .choices(NETWORK_WEIGHTS)
    .default('auto')
}

export function fallbackOption(): Option {
  return new Option(
    '--fallback <runtime>',
    'what runs nodes that cannot be compiled: ort is the package onnxruntime-web; default: TypeScript where possible',
  ).choices(NETWORK_FALLBACKS)
}

export function dtypeOption(): Option {
  return new Option(
    '--dtype <dtype>',
    'which ONNX graph to read if a model has several: onnx/model_q4.onnx is q4',
  ).choices(LOAD_OPTIONS.dtype.choices)
}

export function architectureOption(): Option {
  return new Option(
    '--architecture <family>',
    'the family to load the model as, such as llama, for an unknown architecture that computes the same function',
  )
}

/** `int8` for both, or `int8,fp8` for keys and values. */
function kvFormat(text: string): KvFormat {
  const [k = '', v = k, more] = text.split(',')
  const isKnown =
    KEY_FORMATS.some((each) => each === k) && VALUE_FORMATS.some((each) => each === v) && more === undefined
  if (isKnown) return { k, v } as KvFormat
  throw new InvalidArgumentError('give f32 or int8 for both, or like int8,fp8 for keys and values.')
}

export function kvOption(): Option {
  return new Option('--kv <formats>', 'how the context is stored: f32, int8, or keys,values like int8,fp8')
    .argParser(kvFormat)
    .default(EXACT_KV, 'f32')
}

export const threadsOption = (): Option =>
  new Option('--threads <n>', 'compute threads; auto measures which number is fastest')
    .argParser(threadCount)
    .default('auto')

export const buildOption = (): Option =>
  new Option('--build <build>', 'kernels to use')
    .choices(LOAD_OPTIONS.build.choices)
    .default(LOAD_OPTIONS.build.default)

export function withEngineOptions(command: Command): Command {
  return command
    .addOption(threadsOption())
    .addOption(buildOption())
    .addOption(weightsOption())
    .addOption(dtypeOption())
    .addOption(architectureOption())
    .addOption(loraOption())
    .addOption(kvOption())
    .option('--chat-template <file>', "a file with a chat template in Jinja that replaces the model's own")
    .option(
      '--state-bytes <size>',
      'maximum memory for keys and values, like 256MB; default: all available memory',
      size(LOAD_OPTIONS.stateBytes.least),
    )
}

/** Adds `--no-store` to a command that loads models. */
export function withStoreOption(command: Command): Command {
  return command
    .option('--no-store', `neither store downloads nor read stored ones; ${NO_STORE}=1 does the same`)
    .hook('preAction', () => {
      // The variable reaches each load of the command.
      if (command.getOptionValue('store') === false) process.env[NO_STORE] = '1'
    })
}

export interface VisionFlags {
  /** The vision tower, if the model's own files do not include it. */
  readonly vision?: string
}

export const visionOption = (): Option =>
  new Option(
    '--vision <model>',
    "a vision model's tower, if <model>'s files do not include it: an mmproj GGUF file or a folder, in the same forms as <model>",
  )

export function withContextOption(command: Command): Command {
  return command.option(
    '--context <tokens>',
    "maximum tokens of a conversation; default: 4096 or the model's limit",
    parserOf(LOAD_OPTIONS.contextLength),
  )
}

export interface SparseFlags {
  readonly sparse: SparsePolicy
}

export function sparseOption(): Option {
  return new Option('--sparse <format>', 'store matrices without their zeros; auto does so if that is faster')
    .choices(['auto', 'none', 'sb84', 'sv32', 'sp24'])
    .default('auto')
}
