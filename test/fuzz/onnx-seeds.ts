// The valid ONNX files that the fuzzer changes: whole exports, exports cut to one layer, and small decoders
// with random control inputs. Many short files can be read in the time of one whole export.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bufferSource } from '../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../src/core/base/errors.ts'
import { decoderBytes } from '../conformance/onnx/control/decoder.ts'
import { randomDecoder } from '../conformance/onnx/control/random-decoder.ts'
import { openDecoder } from './networks/compare-onnx.ts'
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
const COUNT = 26
/** Numbers with which control inputs are compared; the comparison's prompts have six tokens. */
const MAX_NUMBER = 5
/** Rows of the seeds' position tables; at least the fuzzer's context length. */
const TABLE_ROWS = 64
/**
 * About half of the random forms can be proven. A much lower share would mean that the generator is broken.
 */
const MAX_TRIES = 4 * COUNT

function smallDecoder(index: number): Uint8Array {
  const { form } = randomDecoder(SEED, index, MAX_NUMBER)
  return decoderBytes({ ...form, tableRows: TABLE_ROWS })
}

/**
 * Decoders that load, by their random index: three kinds of attention, windows, slopes, tables, and states
 * that move. The loader rejects the others with the cause.
 */
export async function smallDecoders(): Promise<ReadonlyMap<number, Uint8Array>> {
  const found = new Map<number, Uint8Array>()
  for (let index = 0; found.size < COUNT && index < MAX_TRIES; index++) {
    const bytes = smallDecoder(index)
    if (await isRead(bytes)) found.set(index, bytes)
  }
  if (found.size < COUNT) throw new Error(`${found.size} of ${MAX_TRIES} decoders load, not ${COUNT}`)
  return found
}

async function isRead(bytes: Uint8Array): Promise<boolean> {
  try {
    await openDecoder(bufferSource(MODEL, bytes))
    return true
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'unsupported') return false
    throw error
  }
}
