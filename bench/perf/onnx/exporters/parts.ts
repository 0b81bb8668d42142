// The parts of an exporter's graph. In: operators and the values that they read. Out: nodes, inputs, outputs
// and weights, under names that exporters give.
import { floatsToHalves } from '../../../../src/base/half.ts'
import type { WrittenAttribute, WrittenNode } from '../../../../src/onnx/testing/write-model.ts'
import type { Shape } from '../../../shapes.ts'
import type { SourcedWeight } from '../decoder.ts'
import type { ElementType, InlineConstant, Value } from '../proto.ts'
import { floats } from '../repack.ts'

type Attributes = Readonly<Record<string, WrittenAttribute>>
type Read = (name: string) => Promise<Uint8Array>

export class ExportParts {
  readonly nodes: WrittenNode[] = []
  readonly inputs: Value[] = []
  readonly outputs: Value[] = []
  readonly weights: SourcedWeight[] = []
  /** Numbers that lie in the file of the graph. */
  readonly constants: InlineConstant[] = []
  readonly #names = new Set<string>()
  #made = 0

  /** The first output of a new node. */
  op(op: string, inputs: readonly string[], attributes: Attributes = {}): string {
    return this.node(op, inputs, [`${op}_${this.#made++}`], attributes)
  }

  node(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
    domain?: 'com.microsoft',
  ): string {
    this.nodes.push({ op, domain, inputs, outputs, attributes })
    return outputs[0]!
  }

  cast(value: string, type: 'f32' | 'f16' | 'i32' | 'i64' | 'bool'): string {
    return this.op('Cast', [value], { to: { f32: 1, f16: 10, i32: 6, i64: 7, bool: 9 }[type] })
  }

  /** A weight by its name, made once however often it is read. */
  weight(name: string, type: ElementType, shape: readonly number[], make: SourcedWeight['make']): string {
    if (!this.#names.has(name)) this.weights.push({ name, type, shape, make })
    this.#names.add(name)
    return name
  }

  ints(values: readonly number[], shape: readonly number[] = [values.length]): string {
    return this.#constant(values, 'i64', shape, bytesOf(BigInt64Array.from(values, BigInt)))
  }

  int(value: number): string {
    return this.ints([value], [])
  }

  numbers(
    values: readonly number[],
    type: 'f32' | 'f16' = 'f32',
    shape: readonly number[] = [values.length],
  ): string {
    return this.#constant(values, type, shape, asType(Float32Array.from(values), type))
  }

  number(value: number, type: 'f32' | 'f16' = 'f32'): string {
    return this.numbers([value], type, [])
  }

  #constant(
    values: readonly number[],
    type: ElementType,
    shape: readonly number[],
    bytes: Uint8Array,
  ): string {
    const name = `${type} ${values} [${shape}]`
    if (!this.#names.has(name)) this.constants.push({ name, type, shape, bytes })
    this.#names.add(name)
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

/** Rows of several tensors of Q4_0, one after the other. */
export async function joined(names: readonly string[], read: Read): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for (const name of names) parts.push(await read(name))
  return parts.length === 1 ? parts[0]! : new Uint8Array(Buffer.concat(parts))
}

/**
 * The values of a matrix of Q4_0. The heads of llama's queries and keys lie in a GGUF as neighbours that
 * rotate together, and in an export as two halves: with `headDim`, they are put into the latter order.
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

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
