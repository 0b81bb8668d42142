// Decode options. In: what a caller set. Out: what of it crosses to the worker.
import type { DecodeOptions } from '../engine/wire/protocol.ts'
import { absolute } from './source.ts'
import type { GenerateOptions } from './types.ts'

/** Without the signal, and with addresses that mean the same anywhere. */
export function decodeOptions({
  signal: _,
  tools: __,
  processors,
  ...options
}: GenerateOptions): DecodeOptions {
  if (processors === undefined) return options
  return { ...options, processors: processors.map((address) => absolute(address, globalThis.location?.href)) }
}
