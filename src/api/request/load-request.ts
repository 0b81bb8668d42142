// Load requests. In: where a model is, a caller's options. Out: what crosses to the worker, or what is wrong
// with an option.
import { checkList } from '../../base/lists.ts'
import { checkChoice, checkKeys, wrongOption } from '../../base/options.ts'
import { isCount } from '../../base/values.ts'
import type { LoadRequest } from '../../engine/wire/protocol.ts'
import { EXACT_KV } from '../../graph/ir.ts'
import type { LoadOptions, ModelSource, PrepareOptions, ProbeOptions } from '../types.ts'
import { absolute, resolveSource } from './source.ts'

/** Options that are one of a few words. */
const CHOICES = {
  pool: ['auto', 'shared', 'shards', 'single'],
  weights: ['auto', 'f32', 'w8', 'w4', 'w4_channel'],
  cache: ['opfs', 'none'],
  build: ['auto', 'relaxed', 'simd128'],
}
/** Options that are objects, with their own options. */
const PARTS = {
  assets: ['worker', 'compute', 'wasm'],
  hub: ['baseUrl', 'token'],
  kvCache: ['k', 'v'],
}
const COUNTS = ['threads', 'contextLength', 'stateBytes']
const OTHERS = ['signal', 'draft', 'lora']

/** Throws `unsupported` for a wrong option of `load` or `probe`, of which each has one option of its own. */
export function checkLoadOptions(
  options: LoadOptions & ProbeOptions,
  own: 'onProgress' | 'limitBytes',
): void {
  checkKeys('the options', options, [...OTHERS, ...COUNTS, ...Object.keys({ ...CHOICES, ...PARTS }), own])
  const values = options as Readonly<Record<string, unknown>>
  for (const name of [...COUNTS, 'limitBytes']) {
    const value = values[name] ?? 1
    const isFree = name === 'threads' && value === 'auto'
    if (!isFree && (!isCount(value) || value < 1)) throw wrongOption(name, value, 'a whole number from 1')
  }
  for (const [name, choices] of Object.entries(CHOICES)) checkChoice(name, values[name], choices)
  for (const [name, keys] of Object.entries(PARTS)) checkKeys(name, values[name] ?? {}, keys)
  const { signal, onProgress, lora = [], kvCache } = options
  checkChoice('kvCache.k', kvCache?.k, ['f32', 'int8'])
  checkChoice('kvCache.v', kvCache?.v, ['f32', 'int8', 'fp8'])
  if (typeof (onProgress ?? isCount) !== 'function') throw wrongOption('onProgress', onProgress, 'a function')
  if (signal && !signal.throwIfAborted) throw wrongOption('signal', signal, 'an AbortSignal')
  checkList('lora', lora)
  for (const each of lora) checkKeys('an entry of lora', each, ['source', 'scale'])
}

/** Checks the options of `Engine.prepare`, and makes their addresses absolute. */
export function prepareRequest(options: PrepareOptions): {
  readonly script: string | undefined
  readonly assets: LoadRequest['assets']
} {
  checkKeys('the options', options, ['assets'])
  checkKeys('assets', options.assets ?? {}, PARTS.assets)
  return { script: workerAddress(options), assets: hostAssets(options) }
}

const hostAssets = ({ assets = {} }: PrepareOptions) => ({
  wasm: place(assets.wasm),
  compute: place(assets.compute),
})

/** The absolute address of the engine worker's script, if the caller gave one. */
export const workerAddress = ({ assets }: PrepareOptions): string | undefined => place(assets?.worker)

const place = (address: string | URL | undefined) =>
  address === undefined ? undefined : absolute(address, globalThis.location?.href)

/** Throws `unsupported` for a source that is none. */
export function loadRequest(source: ModelSource, options: LoadOptions): LoadRequest {
  const {
    threads = 'auto',
    pool = 'auto',
    contextLength,
    stateBytes,
    weights = 'auto',
    kvCache,
    cache = 'opfs',
    build = 'auto',
  } = options
  const from = (given: ModelSource) => resolveSource(given, globalThis.location?.href, options.hub)
  return {
    source: from(source),
    draft: options.draft && from(options.draft),
    lora: options.lora?.map(({ source, scale = 1 }) => ({ source: from(source), scale })),
    hub: options.hub,
    threads,
    pool,
    contextLength,
    stateBytes,
    weights,
    kvCache: { ...EXACT_KV, ...kvCache },
    cache,
    build,
    assets: hostAssets(options),
  }
}
