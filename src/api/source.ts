// Sources. In: where a caller says a model is. Out: what crosses to the worker: an absolute address, or files.
import type { ModelSource } from './types.ts'

const HUB = 'https://huggingface.co/'

/** Resolves relative addresses against `base`; without one they stay as they are. */
export function resolveSource(source: ModelSource, base: string | undefined): string | readonly File[] {
  if (typeof source === 'string') return absolute(source, base)
  if (source instanceof URL) return source.href
  if ('repo' in source) {
    return `${HUB}${source.repo}/resolve/${encodeURIComponent(source.revision ?? 'main')}/${source.file ?? ''}`
  }
  return [source].flat()
}

export function absolute(address: string | URL, base: string | undefined): string {
  if (address instanceof URL) return address.href
  return base === undefined || URL.canParse(address) ? address : new URL(address, base).href
}
