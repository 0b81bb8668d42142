// Splits the tensors of a slot into the parts of each shard, one slab of rows at a time.
import { type Encoding, matrixBytes, PANEL_ROWS, panelBytes } from '../abi/encodings.ts'
import type { Range, WeightPart, WeightRef } from '../graph/ir.ts'
import { checkMatrix, readPart, type StreamOptions, type StreamPart } from './part.ts'
import { rowSlabs } from './slabs.ts'

/**
 * Takes ownership of bytes that belong at `offset` in a shard's slot, because sending them in a message
 * transfers their memory. So offsets must be computed from the shard's contents, never from bytes already
 * sent. The next bytes come only after this call has finished.
 */
export type Deal = (shard: number, offset: number, bytes: Uint8Array<ArrayBuffer>) => Promise<void> | void

export interface DealOptions extends StreamOptions {
  /** Called with each piece of the slot: its offset, its bytes, and the strips from which they were made. */
  readonly onPacked?: ((offset: number, bytes: Uint8Array, strips?: Uint8Array) => void) | undefined
}

/**
 * Reads each tensor once and gives every shard the rows and columns in `held[shard]`, in kernel layout.
 * Padding is not written, because fresh memory is zero. Row cuts are multiples of 8. Column cuts are
 * multiples of `columnUnit` if weights share a scale. Throws the same errors as `streamMatrix`.
 */
export async function dealMatrix(
  parts: readonly StreamPart[],
  k: number,
  encoding: Encoding,
  held: readonly WeightRef[],
  deal: Deal,
  options: DealOptions = {},
): Promise<void> {
  for (const part of parts) checkMatrix(part, k)
  const panel = panelBytes(encoding, k)
  const begins = held.map((ref) => beginsOf(ref, (n) => matrixBytes(encoding, n, ref.k)))
  let begin = 0
  for (const [index, part] of parts.entries()) {
    for await (const { write, offset, bytes, strips } of rowSlabs(part, k, encoding, options)) {
      const packed = new Uint8Array(bytes)
      write(packed)
      options.onPacked?.(begin + offset, packed, strips)
      const first = (offset / panel) * PANEL_ROWS
      const end = first + (bytes / panel) * PANEL_ROWS
      for (const [shard, ref] of held.entries()) {
        let row = 0
        for (const { first: start, count } of runsOf(ref, index)) {
          const from = Math.max(first, start)
          const to = Math.min(end, start + count)
          if (from < to) {
            const panels = packed.subarray(
              ((from - first) / PANEL_ROWS) * panel,
              panelsOf(to - first) * panel,
            )
            const panelRow = (row + from - start) / PANEL_ROWS
            const at = begins[shard]![index]! + panelRow * panelBytes(encoding, ref.k)
            await deal(shard, at, columnsOf(panels, panel, encoding, ref))
          }
          row += count
        }
      }
    }
    begin += matrixBytes(encoding, part.n, k)
  }
}

/** Like `dealMatrix`, for norm weights and biases, as f32. */
export async function dealVector(
  parts: readonly StreamPart[],
  held: readonly WeightRef[],
  deal: Deal,
  options: DealOptions = {},
): Promise<void> {
  const vectorBytes = (n: number): number => matrixBytes('f32', n, 1)
  const begins = held.map((ref) => beginsOf(ref, vectorBytes))
  let begin = 0
  for (const [index, part] of parts.entries()) {
    const values = await readPart(part, options)
    for (const [shard, ref] of held.entries()) {
      const own = new Float32Array(vectorBytes(ref.parts[index]!.n) / 4)
      let at = 0
      for (const { first, count } of runsOf(ref, index)) {
        own.set(values.subarray(first, first + count), at)
        at += count
      }
      await deal(shard, begins[shard]![index]!, new Uint8Array(own.buffer))
    }
    options.onPacked?.(begin, new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    begin += vectorBytes(part.n)
    options.onBytes?.(part.tensor.byteLength)
  }
}

/** The byte at which each part begins in a shard's slot. */
function beginsOf({ parts }: WeightRef, bytesOf: (n: number) => number): number[] {
  let end = 0
  return parts.map(({ n }) => {
    const begin = end
    end += bytesOf(n)
    return begin
  })
}

/** The rows of a part that the shard holds. */
function runsOf({ parts }: WeightRef, index: number): readonly Range[] {
  const { rows, n } = parts[index] as WeightPart
  return rows?.runs ?? [{ first: 0, count: n }]
}

const panelsOf = (rows: number): number => Math.ceil(rows / PANEL_ROWS)

/**
 * Some columns of whole panels. They are contiguous in each panel, after the bytes that all columns share.
 */
function columnsOf(
  panels: Uint8Array<ArrayBuffer>,
  panel: number,
  encoding: Encoding,
  { columns, k }: WeightRef,
): Uint8Array<ArrayBuffer> {
  if (columns === undefined) return panels.slice()
  const from = panelBytes(encoding, columns.first)
  const width = panelBytes(encoding, k)
  const head = panelBytes(encoding, 0)
  const out = new Uint8Array((panels.byteLength / panel) * width)
  for (let at = 0, to = 0; at < panels.byteLength; at += panel, to += width) {
    out.set(panels.subarray(at, at + head), to)
    out.set(panels.subarray(at + from, at + from + width - head), to + head)
  }
  return out
}
