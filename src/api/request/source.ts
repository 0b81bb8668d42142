// Sources. In: where a caller says a model is. Out: what crosses to the worker: an absolute address, or
// files.

import { HalfbyteError } from '../../base/errors.ts'
import { checkList } from '../../base/lists.ts'
import { readFrom, shown, wrongOption } from '../../base/options.ts'
import { isObject } from '../../base/values.ts'
import { type Hub, hubUrl, parseHubAddress, type RepoAddress } from '../../store/hub.ts'
import type { ModelSource } from '../types.ts'

/** Resolves relative addresses against `base`; without `base` they stay relative. Throws `unsupported`. */
export function resolveSource(
  source: ModelSource,
  base: string | undefined,
  hub?: Hub,
): string | readonly File[] {
  return readFrom('the model', () => placeOf(source, base, hub))
}

function placeOf(source: ModelSource, base: string | undefined, hub?: Hub): string | readonly File[] {
  if (typeof source === 'string') {
    const address = parseHubAddress(source)
    return address === undefined ? fetchable(absolute(source, base), base) : hubUrl(address, hub)
  }
  if (source instanceof URL) return fetchable(source.href, base)
  if (isObject(source) && 'repo' in source) return hubUrl(repoOf(source as RepoAddress), hub)
  checkList('the model', Array.isArray(source) ? source : [])
  const files = [source].flat() as File[]
  if (files.length > 0 && files.every((file) => file instanceof Blob)) return files.map(named)
  throw new HalfbyteError(
    'unsupported',
    `the model is ${shown(source)} but must be an address, a File, Files or { repo }; pass one of these`,
  )
}

/** A Blob, such as a response's, has no name, and errors name files. */
const named = (file: Blob): File => (file instanceof File ? file : new File([file], 'model'))

/** Whether nothing will be found at this address on the next visit, so that storing its file is of no use. */
export const isPassing = (source: string | readonly File[]): boolean =>
  typeof source === 'string' && /^(?:blob|data):/i.test(source)

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

export function absolute(address: string | URL, base: string | undefined): string {
  if (address instanceof URL) return address.href
  if (base === undefined || URL.canParse(address)) return address
  if (URL.canParse(address, base)) return new URL(address, base).href
  throw new HalfbyteError(
    'unsupported',
    `${shown(address)} is no address on the page ${base}; write it in full, with https://`,
    { address },
  )
}
