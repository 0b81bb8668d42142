// Sources. In: where a caller says a model is. Out: what crosses to the worker: an absolute address, or
// files.
import { type Hub, hubUrl, parseHubAddress } from '../store/hub.ts'
import type { ModelSource } from './types.ts'

/** Resolves relative addresses against `base`; without `base` they stay relative. */
export function resolveSource(
  source: ModelSource,
  base: string | undefined,
  hub?: Hub,
): string | readonly File[] {
  if (typeof source === 'string') {
    const address = parseHubAddress(source)
    return address === undefined ? absolute(source, base) : hubUrl(address, hub)
  }
  if (source instanceof URL) return source.href
  if ('repo' in source) return hubUrl(source, hub)
  return [source].flat()
}

export function absolute(address: string | URL, base: string | undefined): string {
  if (address instanceof URL) return address.href
  return base === undefined || URL.canParse(address) ? address : new URL(address, base).href
}
