// Writes the nodes and constants of a graph, each value under a unique name.
import { floatToHalf } from '../../../core/base/half.ts'
import type { WrittenAttribute, WrittenNode, WrittenTensor } from './write-model.ts'

/** Numbers of TensorProto.DataType. */
export const TYPE = { f32: 1, u8: 2, i8: 3, i32: 6, i64: 7, string: 8, bool: 9, f16: 10 } as const

type Attributes = Readonly<Record<string, WrittenAttribute>>

export class NodeWriter {
  readonly nodes: WrittenNode[] = []
  readonly constants: WrittenTensor[] = []
  readonly #prefix: string
  #made = 0

  /** Names begin with `prefix`. Default: no prefix. */
  constructor(prefix = '') {
    this.#prefix = prefix
  }

  /** The first output of a new node. */
  op(op: string, inputs: readonly string[], attributes: Attributes = {}): string {
    return this.node(op, inputs, [`${this.#prefix}${op}_${this.#made++}`], attributes)
  }

  /** Adds a node. Returns its first output. */
  node(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
    domain?: 'com.microsoft',
  ): string {
    this.nodes.push({ op, domain, inputs, outputs, attributes })
    return outputs[0] as string
  }

  /** Replaces a node with what `make` returns. */
  replace(isMeant: (node: WrittenNode) => boolean, make: (node: WrittenNode) => void): void {
    const at = this.nodes.findIndex(isMeant)
    const [node] = this.nodes.splice(at, 1)
    const after = this.nodes.splice(at)
    if (node !== undefined) make(node)
    this.nodes.push(...after)
  }

  ints(values: readonly number[], dims: readonly number[] = [values.length]): string {
    return this.constant(TYPE.i64, dims, new Uint8Array(BigInt64Array.from(values, BigInt).buffer))
  }

  int(value: number): string {
    return this.ints([value], [])
  }

  floats(values: ArrayLike<number>, dims: readonly number[] = [values.length]): string {
    return this.constant(TYPE.f32, dims, new Uint8Array(Float32Array.from(values).buffer))
  }

  halves(values: ArrayLike<number>, dims: readonly number[] = [values.length]): string {
    return this.constant(TYPE.f16, dims, new Uint8Array(Uint16Array.from(values, floatToHalf).buffer))
  }

  float(value: number): string {
    return this.floats([value], [])
  }

  /** i32 elements. */
  words(values: readonly number[]): string {
    return this.constant(TYPE.i32, [values.length], new Uint8Array(Int32Array.from(values).buffer))
  }

  bytes(values: Uint8Array, dims: readonly number[]): string {
    return this.constant(TYPE.u8, dims, values)
  }

  truths(values: readonly boolean[], dims: readonly number[]): string {
    return this.constant(TYPE.bool, dims, Uint8Array.from(values, Number))
  }

  cast(value: string, type: keyof typeof TYPE): string {
    return this.op('Cast', [value], { to: TYPE[type] })
  }

  unsqueeze(value: string, ...axes: readonly number[]): string {
    return this.op('Unsqueeze', [value, this.ints(axes)])
  }

  protected constant(type: number, dims: readonly number[], raw: Uint8Array): string {
    const name = `${this.#prefix}c_${this.constants.length}`
    this.constants.push({ name, type, dims, raw })
    return name
  }
}
