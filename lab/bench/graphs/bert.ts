// Writes sentence encoders of BERT's form with random weights, as torch exports them: primitive operators,
// computed shapes, attention between transpositions, GELU with Erf.
import {
  modelBytes,
  type WrittenAttribute,
  type WrittenNode,
  type WrittenTensor,
} from '../../../src/network/onnx/testing/write-model.ts'
import { Random } from '../../../test/helpers/random.ts'

interface BertShape {
  readonly layers: number
  readonly hidden: number
  readonly heads: number
  readonly intermediate: number
  readonly vocabulary: number
  readonly positions: number
}

/** The shape of all-MiniLM-L6-v2. The vocabulary is smaller, which does not affect times. */
export const MINILM: BertShape = {
  layers: 6,
  hidden: 384,
  heads: 12,
  intermediate: 1536,
  vocabulary: 1024,
  positions: 512,
}

const FLOAT = 1
const INT64 = 7

/**
 * Inputs: `input_ids`, `attention_mask` and `token_type_ids`, i64 [batch, tokens]. Output:
 * `last_hidden_state` f32 [batch, tokens, hidden].
 */
export function bertBytes(shape: BertShape, seed = 1): Uint8Array {
  const writer = new BertWriter(shape, seed)
  return writer.bytes()
}

/** A constant of floats in the graph of `bertBytes`; matrices are [inputs, outputs]. */
interface BertConstant {
  readonly name: string
  readonly dims: readonly number[]
  readonly values: Float32Array
}

/** The constants of the graph that `bertBytes` writes for the same seed. */
export function bertConstants(shape: BertShape, seed = 1): readonly BertConstant[] {
  const writer = new BertWriter(shape, seed)
  writer.bytes()
  return writer.floats
}

class BertWriter {
  readonly floats: BertConstant[] = []

  readonly #shape: BertShape
  readonly #random: Random
  readonly #nodes: WrittenNode[] = []
  readonly #constants: WrittenTensor[] = []

  constructor(shape: BertShape, seed: number) {
    this.#shape = shape
    this.#random = new Random(seed)
  }

  bytes(): Uint8Array {
    let state = this.#embedded()
    const mask = this.#mask()
    for (let layer = 0; layer < this.#shape.layers; layer++)
      state = this.#layer(`layer.${layer}`, state, mask)
    this.#node('Identity', [state], 'last_hidden_state')
    const input = (name: string) => ({ name, type: INT64, dims: ['batch', 'tokens'] })
    const { hidden } = this.#shape
    return modelBytes({
      nodes: this.#nodes,
      constants: this.#constants,
      inputs: ['input_ids', 'attention_mask', 'token_type_ids'].map(input),
      outputs: [{ name: 'last_hidden_state', type: FLOAT, dims: ['batch', 'tokens', hidden] }],
    })
  }

  #node(
    op: string,
    inputs: string[],
    output: string,
    attributes: Record<string, WrittenAttribute> = {},
  ): string {
    this.#nodes.push({ op, inputs, outputs: [output], attributes })
    return output
  }

  #floats(name: string, dims: number[], make: () => number): string {
    const values = Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, make)
    this.floats.push({ name, dims, values })
    this.#constants.push({ name, type: FLOAT, dims, raw: new Uint8Array(values.buffer) })
    return name
  }

  #whole(name: string, values: number[], dims = [values.length]): string {
    const raw = new Uint8Array(BigInt64Array.from(values, BigInt).buffer)
    this.#constants.push({ name, type: INT64, dims, raw })
    return name
  }

  #scalar = (name: string, value: number): string => this.#floats(name, [], () => value)

  #matrix(name: string, from: number, to: number): string {
    const scale = Math.sqrt(3 / from)
    return this.#floats(name, [from, to], () => scale * this.#random.signed())
  }

  #linear(name: string, x: string, from: number, to: number): string {
    const product = this.#node('MatMul', [x, this.#matrix(`${name}.weight`, from, to)], `${name}.product`)
    const bias = this.#floats(`${name}.bias`, [to], () => 0.1 * this.#random.signed())
    return this.#node('Add', [bias, product], name)
  }

  #norm(name: string, x: string): string {
    const { hidden } = this.#shape
    const axes = { axes: { ints: [-1] } }
    const mean = this.#node('ReduceMean', [x], `${name}.mean`, axes)
    const centred = this.#node('Sub', [x, mean], `${name}.centred`)
    const square = this.#node('Pow', [centred, this.#scalar(`${name}.two`, 2)], `${name}.square`)
    const variance = this.#node('ReduceMean', [square], `${name}.variance`, axes)
    const sum = this.#node('Add', [variance, this.#scalar(`${name}.epsilon`, 1e-12)], `${name}.sum`)
    const deviation = this.#node('Sqrt', [sum], `${name}.deviation`)
    const normed = this.#node('Div', [centred, deviation], `${name}.normed`)
    const weight = this.#floats(`${name}.weight`, [hidden], () => 1 + 0.1 * this.#random.signed())
    const scaled = this.#node('Mul', [normed, weight], `${name}.scaled`)
    const bias = this.#floats(`${name}.bias`, [hidden], () => 0.1 * this.#random.signed())
    return this.#node('Add', [scaled, bias], name)
  }

  #size(name: string, axis: number): string {
    const shape = this.#node('Shape', ['input_ids'], `${name}.shape`)
    return this.#node('Gather', [shape, this.#whole(`${name}.axis`, [axis], [])], name)
  }

  #embedded(): string {
    const { hidden, vocabulary, positions } = this.#shape
    const table = (name: string, rows: number) =>
      this.#floats(name, [rows, hidden], () => this.#random.signed())
    const words = this.#node('Gather', [table('words.table', vocabulary), 'input_ids'], 'words')
    const types = this.#node('Gather', [table('types.table', 2), 'token_type_ids'], 'types')
    const places = this.#whole(
      'places',
      Array.from({ length: positions }, (_, at) => at),
      [1, positions],
    )
    const tokens = this.#node(
      'Unsqueeze',
      [this.#size('tokens', 1), this.#whole('front', [0])],
      'tokens.list',
    )
    const start = this.#whole('places.start', [0])
    const axis = this.#whole('places.axis', [1])
    const ids = this.#node('Slice', [places, start, tokens, axis], 'places.ids')
    const place = this.#node('Gather', [table('places.table', positions), ids], 'places.rows')
    const both = this.#node('Add', [words, types], 'words.types')
    return this.#norm('embeddings', this.#node('Add', [both, place], 'embedded'))
  }

  #mask(): string {
    const rows = this.#node('Unsqueeze', ['attention_mask', this.#whole('mask.axes', [1, 2])], 'mask.rows')
    const cast = this.#node('Cast', [rows], 'mask.floats', { to: FLOAT })
    const inverse = this.#node('Sub', [this.#scalar('mask.one', 1), cast], 'mask.inverse')
    return this.#node('Mul', [inverse, this.#scalar('mask.least', -1e4)], 'mask')
  }

  #heads(name: string, x: string, perm: number[]): string {
    const { hidden, heads } = this.#shape
    const value = this.#linear(name, x, hidden, hidden)
    const sizes = ['batch', 'tokens'].map((each, axis) =>
      this.#node('Unsqueeze', [this.#size(`${name}.${each}`, axis), 'front'], `${name}.${each}.list`),
    )
    const rest = this.#whole(`${name}.heads`, [heads, hidden / heads])
    const shape = this.#node('Concat', [...sizes, rest], `${name}.shape`, { axis: 0 })
    const split = this.#node('Reshape', [value, shape], `${name}.split`)
    return this.#node('Transpose', [split], `${name}.turned`, { perm: { ints: perm } })
  }

  #layer(name: string, x: string, mask: string): string {
    const { hidden, heads, intermediate } = this.#shape
    const query = this.#heads(`${name}.query`, x, [0, 2, 1, 3])
    const key = this.#heads(`${name}.key`, x, [0, 2, 3, 1])
    const value = this.#heads(`${name}.value`, x, [0, 2, 1, 3])
    const scores = this.#node('MatMul', [query, key], `${name}.scores`)
    const root = this.#scalar(`${name}.root`, Math.sqrt(hidden / heads))
    const scaled = this.#node('Div', [scores, root], `${name}.scaled`)
    const masked = this.#node('Add', [scaled, mask], `${name}.masked`)
    const shares = this.#node('Softmax', [masked], `${name}.shares`, { axis: 3 })
    const context = this.#node('MatMul', [shares, value], `${name}.context`)
    const turned = this.#node('Transpose', [context], `${name}.turned`, { perm: { ints: [0, 2, 1, 3] } })
    const flat = this.#whole(`${name}.flat`, [0, 0, hidden])
    const joined = this.#node('Reshape', [turned, flat], `${name}.joined`)
    const mixed = this.#linear(`${name}.output`, joined, hidden, hidden)
    const middle = this.#norm(`${name}.norm`, this.#node('Add', [mixed, x], `${name}.residual`))
    const inner = this.#gelu(`${name}.gelu`, this.#linear(`${name}.up`, middle, hidden, intermediate))
    const outer = this.#linear(`${name}.down`, inner, intermediate, hidden)
    return this.#norm(`${name}.out`, this.#node('Add', [outer, middle], `${name}.residual2`))
  }

  #gelu(name: string, x: string): string {
    const divided = this.#node('Div', [x, this.#scalar(`${name}.root`, Math.SQRT2)], `${name}.divided`)
    const erf = this.#node('Erf', [divided], `${name}.erf`)
    const sum = this.#node('Add', [erf, this.#scalar(`${name}.one`, 1)], `${name}.sum`)
    const product = this.#node('Mul', [x, sum], `${name}.product`)
    return this.#node('Mul', [product, this.#scalar(`${name}.half`, 0.5)], name)
  }
}
