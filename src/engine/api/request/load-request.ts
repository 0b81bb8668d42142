// Turns a caller's source and options into a request that can be sent to the worker.

import { checkKeys, checkList, readFrom, shown, wrongOption } from '../../../core/base/check-options.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { isObject } from '../../../core/base/values.ts'
import { givenPlace, type Place } from '../../../core/formats/names/named-files.ts'
import { EXACT_KV } from '../../../core/graph/ir.ts'
import { type Hub, hubUrl, parseHubAddress, type RepoAddress } from '../../../core/store/hub.ts'
import type { LoadRequest } from '../../wire/protocol.ts'
import type { LoadOptions, ModelSource, PrepareOptions } from '../types.ts'
import { checkedLoad, LOAD_OPTIONS } from './load-options.ts'

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

/** What to pass instead of an object that is not the bytes themselves, keyed by its tag. */
const INSTEAD = new Map([
  ['Response', 'await response.blob()'],
  ['ReadableStream', 'await new Response(stream).blob()'],
  ['FileList', '[...files]'],
])

const isBytes = (value: object): boolean => value instanceof ArrayBuffer || ArrayBuffer.isView(value)

/** Gives Blobs and bytes a name for error messages. */
const named = (file: Blob | ArrayBuffer | Uint8Array<ArrayBuffer>): File =>
  file instanceof File ? file : new File([file], 'model')

/** Whether the address will be invalid on the next visit, so that storing its file is useless. */
const isPassing = (source: string | readonly File[]): boolean =>
  typeof source === 'string' && /^(?:blob|data):/i.test(source)

/** Base64 data may end with a slash, which otherwise marks a folder. A fragment is not part of the data. */
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

/**
 * Throws `unsupported` for an address that no page can fetch, unless the page's own address is of the same
 * kind.
 */
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
    threads = LOAD_OPTIONS.threads.default,
    pool = LOAD_OPTIONS.pool.default,
    contextLength,
    stateBytes,
    weights = LOAD_OPTIONS.weights.default,
    kvCache,
    build = LOAD_OPTIONS.build.default,
    cache = LOAD_OPTIONS.cache.default,
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
    architecture: options.architecture,
    threads,
    pool,
    contextLength,
    stateBytes,
    weights,
    kvCache: { ...EXACT_KV, ...kvCache },
    cache: isPassing(model) ? 'none' : cache,
    build,
    assets: hostAssets(options),
  }
}

/**
 * A key that is equal for two loads if one engine can serve both. Undefined for files, which cannot be
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
