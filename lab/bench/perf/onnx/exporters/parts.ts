// The parts of an exporter's graph, with the names that exporters use.
import { floatsToHalves } from '../../../../../src/core/base/half.ts'
import { NodeWriter } from '../../../../../src/network/onnx/testing/node-writer.ts'
import type { Shape } from '../../../shapes.ts'
import { bytesOf, type SourcedWeight } from '../decoder.ts'
import type { ElementType, Value } from '../proto.ts'
import { floats } from '../repack.ts'

type Read = (name: string) => Promise<Uint8Array>

export class ExportParts extends NodeWriter {
  readonly inputs: Value[] = []
  readonly outputs: Value[] = []
  readonly weights: SourcedWeight[] = []
  readonly #names = new Set<string>()
  readonly #shared = new Map<string, string>()

  /** A weight by name, created once however often it is used. */
  weight(name: string, type: ElementType, shape: readonly number[], make: SourcedWeight['make']): string {
    if (!this.#names.has(name)) this.weights.push({ name, type, shape, make })
    this.#names.add(name)
    return name
  }

  /** Equal constants are merged. */
  protected override constant(type: number, dims: readonly number[], raw: Uint8Array): string {
    const key = `${type} [${dims}] ${raw}`
    const name = this.#shared.get(key) ?? super.constant(type, dims, raw)
    this.#shared.set(key, name)
    return name
  }

  /** `input_ids`, the mask, the states; their outputs are `present.N.key` and `present.N.value`. */
  declare({ layers, kvHeads, headDim, vocabSize }: Shape, type: 'f32' | 'f16', hasPositions: boolean): void {
    this.inputs.push({ name: 'input_ids', type: 'i64', shape: ['batch_size', 'sequence_length'] })
    this.inputs.push({ name: 'attention_mask', type: 'i64', shape: ['batch_size', 'total_sequence_length'] })
    if (hasPositions)
      this.inputs.push({ name: 'position_ids', type: 'i64', shape: ['batch_size', 'sequence_length'] })
    this.outputs.push({ name: 'logits', type, shape: ['batch_size', 'sequence_length', vocabSize] })
    for (let layer = 0; layer < layers; layer++) {
      for (const kind of ['key', 'value']) {
        const state = (length: string) => ({ type, shape: ['batch_size', kvHeads, length, headDim] }) as const
        this.inputs.push({ name: pastName(layer, kind), ...state('past_sequence_length') })
        this.outputs.push({ name: presentName(layer, kind), ...state('total_sequence_length') })
      }
    }
  }
}

export const pastName = (layer: number, kind: string): string => `past_key_values.${layer}.${kind}`
export const presentName = (layer: number, kind: string): string => `present.${layer}.${kind}`

/**
 * The values of a Q4_0 matrix. In a GGUF, rows of llama's query and key heads that rotate together are
 * adjacent; in an export they are in two halves. With `headDim`, rows are put into the latter order.
 */
export async function valuesOf(name: string, k: number, headDim: number | undefined, read: Read) {
  const values = floats(await read(name))
  if (headDim === undefined) return values
  const out = new Float32Array(values.length)
  const half = headDim / 2
  for (let row = 0; row < values.length / k; row++) {
    const at = row % headDim
    const from = row - at + (at < half ? 2 * at : 2 * (at - half) + 1)
    out.set(values.subarray(from * k, (from + 1) * k), row * k)
  }
  return out
}

export const asType = (values: Float32Array, type: 'f32' | 'f16'): Uint8Array =>
  bytesOf(type === 'f32' ? values : floatsToHalves(values))
