// The good ONNX files that the fuzzer changes: exports as they are, exports cut to one layer, and small
// decoders whose control was drawn. Short files are read many times while a whole export is read once.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decoderBytes } from '../conformance/onnx/control/decoder.ts'
import { randomDecoder } from '../conformance/onnx/control/random-decoder.ts'
import { shortened } from './shorten.ts'

const EXPORTS = join(import.meta.dirname, '../conformance/onnx/exports')
export const MODEL = 'model.onnx'

export const exportNames = (): string[] =>
  readdirSync(EXPORTS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

export const exported = (name: string): Uint8Array => new Uint8Array(readFileSync(join(EXPORTS, name, MODEL)))

export const shortExport = (name: string): Uint8Array => shortened(exported(name))

const SEED = 26
/** Decoders of this seed that load: three kinds of attention, windows, slopes, tables, states that move. */
export const DECODERS = [
  0, 1, 2, 3, 7, 9, 12, 13, 14, 16, 17, 21, 23, 24, 26, 28, 30, 32, 33, 50, 51, 56, 57, 58, 59,
] as const
/** Numbers that control compares with; the prompts of the comparison have six tokens. */
const MOST_NUMBER = 5
/** Positions of their tables, no fewer than the fuzzer's context. */
const TABLE_ROWS = 64

export function smallDecoder(index: number): Uint8Array {
  const { form } = randomDecoder(SEED, index, MOST_NUMBER)
  return decoderBytes({ ...form, tableRows: TABLE_ROWS })
}
