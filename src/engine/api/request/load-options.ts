// The options of `load` and `probe`: their values and defaults, and the check of a caller's options.
import { checkKeys, checkList, readFrom } from '../../../core/base/check-options.ts'
import {
  ADDRESS,
  ANY,
  checkValues,
  choice,
  FUNCTION,
  NUMBER,
  type OptionRow,
  SIGNAL,
  TEXT,
  whole,
} from '../../../core/base/options/option-kinds.ts'
import { GRAPH_DTYPES } from '../../../core/formats/names/graph-files.ts'
import { KEY_FORMATS, VALUE_FORMATS } from '../../../core/graph/ir.ts'
import { WEIGHT_POLICIES } from '../../../core/weights/policy.ts'
import type { LoadOptions, ModelSource, ProbeOptions } from '../types.ts'

/** More threads per core than this are rejected, but every device may have up to 32: see `mostThreads`. */
const THREADS_A_CORE = 4

/** Each thread costs memory, and threads beyond the number of cores only wait. */
export const mostThreads = (cores = globalThis.navigator?.hardwareConcurrency ?? 1): number =>
  Math.max(32, THREADS_A_CORE * cores)

const COUNT = whole(1)

export const LOAD_OPTIONS = {
  signal: SIGNAL,
  onProgress: FUNCTION,
  // Sources are checked when they are resolved.
  draft: ANY,
  vision: ANY,
  lora: ANY,
  chatTemplate: TEXT,
  architecture: TEXT,
  imageTiles: COUNT,
  threads: {
    get wanted() {
      return whole(1, mostThreads()).wanted
    },
    fits: (value: unknown) => value === 'auto' || whole(1, mostThreads()).fits(value),
    default: 'auto',
  },
  pool: { ...choice(['auto', 'shared', 'shards', 'single']), default: 'auto' },
  contextLength: COUNT,
  stateBytes: COUNT,
  weights: { ...choice(WEIGHT_POLICIES), default: 'auto' },
  kvCache: ANY,
  cache: { ...choice(['opfs', 'files', 'none']), default: 'opfs' },
  store: {
    wanted: 'a folder or false',
    fits: (value: unknown) => value === false || (typeof value === 'string' && value !== ''),
  },
  dtype: choice(GRAPH_DTYPES),
  hub: ANY,
  build: { ...choice(['auto', 'relaxed', 'simd128']), default: 'auto' },
  assets: ANY,
} as const satisfies Record<keyof LoadOptions, OptionRow>

const PROBE_OPTIONS = { limitBytes: COUNT }
const LORA_OPTIONS = { source: ANY, scale: NUMBER }

/** Options that are objects, with their own options. */
const PARTS = {
  assets: { worker: ADDRESS, compute: ADDRESS, wasm: ADDRESS },
  hub: { baseUrl: TEXT, token: TEXT },
  kvCache: { k: choice(KEY_FORMATS), v: choice(VALUE_FORMATS) },
}

/**
 * A copy of the options of `load` or `probe`. Each of the two has one option that the other lacks. Throws
 * `unsupported` for a wrong option.
 */
export function checkedLoad(
  options: LoadOptions & ProbeOptions,
  own: 'onProgress' | 'limitBytes',
): LoadOptions & ProbeOptions {
  return readFrom('the options', () => {
    const { onProgress, ...shared } = LOAD_OPTIONS
    const table = own === 'onProgress' ? { ...shared, onProgress } : { ...shared, ...PROBE_OPTIONS }
    checkKeys('the options', options, Object.keys(table))
    const copy = { ...options }
    checkValues(table, copy)
    const parts = Object.entries(PARTS).map(([name, rows]) => [name, partOf(name, copy, rows)])
    return { ...copy, ...Object.fromEntries(parts), lora: loraOf(copy.lora) }
  })
}

function partOf(
  name: string,
  options: object,
  rows: Readonly<Record<string, OptionRow>>,
): object | undefined {
  const part: unknown = (options as Readonly<Record<string, unknown>>)[name]
  if (part === undefined) return undefined
  checkKeys(name, part, Object.keys(rows))
  const copy = { ...(part as object) }
  checkValues(rows, copy, `${name}.`)
  return copy
}

function loraOf(lora: unknown): LoadOptions['lora'] {
  if (lora === undefined) return undefined
  checkList('lora', lora)
  return Array.from(lora, (each) => {
    checkKeys('an entry of lora', each, Object.keys(LORA_OPTIONS))
    const { source, scale } = each as { source: ModelSource; scale: number | undefined }
    checkValues(LORA_OPTIONS, { source, scale })
    return scale === undefined ? { source } : { source, scale }
  })
}
