// Checks a load's arguments, and converts them to a request that can be sent to the worker.

import {
  checkChoice,
  checkKeys,
  checkList,
  checkSignal,
  readFrom,
  shown,
  wrongOption,
} from '../../../core/base/check-options.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { isCount, isObject } from '../../../core/base/values.ts'
import { GRAPH_DTYPES } from '../../../core/formats/names/graph-files.ts'
import { givenPlace, type Place } from '../../../core/formats/names/named-files.ts'
import { EXACT_KV, KEY_FORMATS, VALUE_FORMATS } from '../../../core/graph/ir.ts'
import { type Hub, hubUrl, parseHubAddress, type RepoAddress } from '../../../core/store/hub.ts'
import { WEIGHT_POLICIES } from '../../../core/weights/choose-encoding.ts'
import type { LoadRequest } from '../../wire/protocol.ts'
import type { LoadOptions, ModelSource, PrepareOptions, ProbeOptions } from '../types.ts'

/** Resolves relative addresses against `base`; without `base` they stay relative. Throws `unsupported`. */
export function resolveSource(
  source: ModelSource,
  base: string | undefined,
  hub?: Hub,
): Place | readonly File[] {
  return readFrom('the model', () => placeOf(source, base, hub))
}

function placeOf(source: ModelSource, base: string | undefined, hub?: Hub): Place | readonly File[] {
  if (typeof source === 'string' || source instanceof URL) {
    const address = parseHubAddress(String(source))
    return givenPlace(
      address === undefined ? plainData(fetchable(absolute(source, base), base)) : hubUrl(address, hub),
    )
  }
  if (isObject(source) && 'repo' in source) return givenPlace(hubUrl(repoOf(source as RepoAddress), hub))
  checkList('the model', Array.isArray(source) ? source : [])
  const files = [source].flat() as (Blob | ArrayBuffer | Uint8Array<ArrayBuffer>)[]
  if (files.length > 0 && files.every((file) => file instanceof Blob || isBytes(file)))
    return files.map(named)
  const kind = Object.prototype.toString.call(source).slice(8, -1)
  const next = INSTEAD.get(kind)
  throw new HalfbyteError(
    'unsupported',
    `the model is ${next ? `a ${kind}` : shown(source)} but must be an address, a File, Files, bytes or { repo }; pass ${next ?? 'one of these'}`,
  )
}

/** What to pass for objects that are not the bytes themselves, by their tag. */
const INSTEAD = new Map([
  ['Response', 'await response.blob()'],
  ['ReadableStream', 'await new Response(stream).blob()'],
  ['FileList', '[...files]'],
])

const isBytes = (value: object): boolean => value instanceof ArrayBuffer || ArrayBuffer.isView(value)

/** A Blob, such as a response's, and bytes have no name, and errors name files. */
const named = (file: Blob | ArrayBuffer | Uint8Array<ArrayBuffer>): File =>
  file instanceof File ? file : new File([file], 'model')

/** Whether nothing will be found at this address on the next visit: storing its file is of no use. */
const isPassing = (source: string | readonly File[]): boolean =>
  typeof source === 'string' && /^(?:blob|data):/i.test(source)

/** Data in base64 may end with a slash, which means a folder elsewhere. A fragment is not part of data. */
const plainData = (address: string): string => (/^data:.*\/$/s.test(address) ? `${address}#` : address)

function repoOf({ repo, file, revision }: RepoAddress): RepoAddress {
  for (const [name, value] of Object.entries({ repo, file, revision })) {
    if (typeof value !== 'string' && (name === 'repo' || value !== undefined))
      throw wrongOption(`the model's ${name}`, value, 'a text')
  }
  return { repo, file, revision }
}

/** Kinds of addresses that pages cannot fetch. */
const UNFETCHED = /^(?:ftps?|sftp|file|wss?|javascript|mailto):/i

/** Throws `unsupported` for an address that no page can fetch, unless the page has one like it. */
function fetchable(address: string, base: string | undefined): string {
  const [kind] = UNFETCHED.exec(address) ?? []
  if (kind === undefined || base === undefined || base.startsWith(kind)) return address
  throw new HalfbyteError(
    'unsupported',
    `${shown(address)} begins with ${kind}, which pages cannot fetch; give an address with https: or a File`,
    { address },
  )
}

/** Some bundlers make URL objects whose `href` is only a path. */
export function absolute(given: string | URL, base: string | undefined): string {
  const address = given instanceof URL ? given.href : given
  if (base === undefined || URL.canParse(address)) return address
  if (URL.canParse(address, base)) return new URL(address, base).href
  throw new HalfbyteError(
    'unsupported',
    `${shown(address)} is not an address on the page ${base}; write it in full, with https://`,
    { address },
  )
}

/** Options that are one of a few words. */
const CHOICES = {
  pool: ['auto', 'shared', 'shards', 'single'],
  weights: WEIGHT_POLICIES,
  cache: ['opfs', 'none'],
  build: ['auto', 'relaxed', 'simd128'],
  dtype: GRAPH_DTYPES,
}
/** Options that are objects, with their own options. */
const PARTS = {
  assets: ['worker', 'compute', 'wasm'],
  hub: ['baseUrl', 'token'],
  kvCache: ['k', 'v'],
}
const COUNTS = ['threads', 'contextLength', 'stateBytes', 'imageTiles']
const OTHERS = ['signal', 'draft', 'vision', 'lora', 'chatTemplate']

/** More threads than this are rejected, and no device is rejected fewer than 32: see `mostThreads`. */
const THREADS_A_CORE = 4

/** Threads cost memory each, and those beyond the cores only wait. */
export const mostThreads = (cores = globalThis.navigator?.hardwareConcurrency ?? 1): number =>
  Math.max(32, THREADS_A_CORE * cores)

/**
 * A copy of the options of `load` or `probe`; each has one option that the other lacks. Throws `unsupported`
 * for a wrong one.
 */
export function checkedLoad(
  options: LoadOptions & ProbeOptions,
  own: 'onProgress' | 'limitBytes',
): LoadOptions & ProbeOptions {
  return readFrom('the options', () => {
    checkKeys('the options', options, [...OTHERS, ...COUNTS, ...Object.keys({ ...CHOICES, ...PARTS }), own])
    const copy = { ...options }
    const parts = Object.entries(PARTS).map(([name, keys]) => [name, partOf(name, copy, keys)])
    const checked = { ...copy, ...Object.fromEntries(parts), lora: loraOf(copy.lora) }
    checkValues(checked)
    return checked
  })
}

function partOf(name: string, options: object, keys: readonly string[]): object | undefined {
  const part: unknown = (options as Readonly<Record<string, unknown>>)[name]
  if (part === undefined) return undefined
  checkKeys(name, part, keys)
  return { ...(part as object) }
}

function loraOf(lora: unknown): LoadOptions['lora'] {
  if (lora === undefined) return undefined
  checkList('lora', lora)
  return Array.from(lora, (each) => {
    checkKeys('an entry of lora', each, ['source', 'scale'])
    const { source, scale } = each as { source: ModelSource; scale: unknown }
    if (scale === undefined) return { source }
    if (typeof scale === 'number' && Number.isFinite(scale)) return { source, scale }
    throw wrongOption('scale', scale, 'a number')
  })
}

function checkValues(options: LoadOptions & ProbeOptions): void {
  const values = options as Readonly<Record<string, unknown>>
  for (const name of [...COUNTS, 'limitBytes']) {
    const value = values[name]
    if (value === undefined || (name === 'threads' && value === 'auto')) continue
    const most = name === 'threads' ? mostThreads() : Number.MAX_SAFE_INTEGER
    if (isCount(value) && value >= 1 && value <= most) continue
    throw wrongOption(name, value, `a whole number from 1${name === 'threads' ? ` to ${most}` : ''}`)
  }
  for (const [name, choices] of Object.entries(CHOICES)) checkChoice(name, values[name], choices)
  const { signal, onProgress, kvCache, hub, assets = {}, chatTemplate } = options
  checkChoice('kvCache.k', kvCache?.k, KEY_FORMATS)
  checkChoice('kvCache.v', kvCache?.v, VALUE_FORMATS)
  for (const key of ['baseUrl', 'token'] as const) {
    if (hub?.[key] !== undefined && typeof hub[key] !== 'string')
      throw wrongOption(`hub.${key}`, hub[key], 'a text')
  }
  for (const [key, address] of Object.entries(assets)) checkAddress(`assets.${key}`, address)
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw wrongOption('onProgress', onProgress, 'a function')
  if (chatTemplate !== undefined && typeof chatTemplate !== 'string')
    throw wrongOption('chatTemplate', chatTemplate, 'a text')
  checkSignal(signal)
}

function checkAddress(name: string, address: unknown): void {
  if (address === undefined || typeof address === 'string' || address instanceof URL) return
  throw wrongOption(name, address, 'an address')
}

/** Checks the options of `Engine.prepare`, and makes their addresses absolute. */
export function prepareRequest(options: PrepareOptions): {
  readonly script: string | undefined
  readonly assets: LoadRequest['assets']
} {
  return readFrom('the options', () => {
    checkKeys('the options', options, ['assets'])
    const { assets } = checkedLoad({ assets: options.assets }, 'onProgress')
    return { script: workerAddress({ assets }), assets: hostAssets({ assets }) }
  })
}

const hostAssets = ({ assets = {} }: PrepareOptions) => ({
  wasm: place(assets.wasm),
  compute: place(assets.compute),
})

/** The absolute address of the engine worker's script, if the caller gave one. */
export const workerAddress = ({ assets }: PrepareOptions): string | undefined => place(assets?.worker)

const place = (address: string | URL | undefined) =>
  address === undefined ? undefined : absolute(address, globalThis.location?.href)

/** Throws `unsupported` if the source does not name a model. */
export function loadRequest(source: ModelSource, options: LoadOptions): LoadRequest {
  const {
    threads = 'auto',
    pool = 'auto',
    contextLength,
    stateBytes,
    weights = 'auto',
    kvCache,
    build = 'auto',
  } = options
  const from = (given: ModelSource) => resolveSource(given, globalThis.location?.href, options.hub)
  const model = from(source)
  return {
    source: model,
    draft: options.draft ? from(options.draft) : undefined,
    vision: options.vision ? from(options.vision) : undefined,
    imageTiles: options.imageTiles,
    lora: options.lora?.map(({ source, scale = 1 }) => ({ source: from(source), scale })),
    hub: options.hub,
    chatTemplate: options.chatTemplate,
    dtype: options.dtype,
    threads,
    pool,
    contextLength,
    stateBytes,
    weights,
    kvCache: { ...EXACT_KV, ...kvCache },
    cache: isPassing(model) ? 'none' : (options.cache ?? 'opfs'),
    build,
    assets: hostAssets(options),
  }
}

/**
 * A text that two loads have in common if one engine can serve both. Undefined for files, which cannot be
 * compared. Throws `unsupported` if the source does not name a model.
 */
export function engineKey(source: ModelSource, options: LoadOptions): string | undefined {
  return readFrom('the model', () => {
    const request = loadRequest(source, options)
    const sources = [
      request.source,
      request.draft,
      request.vision,
      ...(request.lora ?? []).map((adapter) => adapter.source),
    ]
    return sources.some((each) => Array.isArray(each)) ? undefined : JSON.stringify(request)
  })
}
