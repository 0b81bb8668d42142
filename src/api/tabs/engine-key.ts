// Keys of engines. In: where a model is, load options. Out: a text that two loads have in common if one
// engine serves both.
import { readFrom } from '../../base/options.ts'
import { loadRequest } from '../request/load-request.ts'
import type { LoadOptions, ModelSource } from '../types.ts'

/** Undefined for files, which cannot be compared. Throws `unsupported` for a source that is none. */
export function engineKey(source: ModelSource, options: LoadOptions): string | undefined {
  return readFrom('the model', () => {
    const request = loadRequest(source, options)
    const sources = [request.source, request.draft, ...(request.lora ?? []).map((adapter) => adapter.source)]
    return sources.some((each) => Array.isArray(each)) ? undefined : JSON.stringify(request)
  })
}
