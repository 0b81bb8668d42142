// Decode options. In: a caller's options. Out: the part that crosses to the worker.
import type { DecodeOptions } from '../../engine/wire/protocol.ts'
import type { GenerateOptions } from '../types.ts'
import { absolute } from './source.ts'

/** Drops the signal and makes addresses absolute. */
export function decodeOptions({
  signal: _,
  tools: __,
  prefix: ___,
  processors,
  ...options
}: GenerateOptions): DecodeOptions {
  if (processors === undefined) return options
  return { ...options, processors: processors.map((address) => absolute(address, globalThis.location?.href)) }
}
