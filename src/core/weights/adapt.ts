// Finds the weights that adapters change, and replaces them with the merged values that `merge.ts` computes
// while they are read.

import type { ModelConfig } from '../arch/config/config.ts'
import { familyFile } from '../arch/families.ts'
import { type Weights, weightAt } from '../arch/tensors/names.ts'
import { type ExpectedTensor, expectedTensors } from '../arch/tensors/tensor-names.ts'
import { HalfbyteError } from '../base/errors.ts'
import { type Adapter, changedShape, type LowRank, type Replacement, type Shift } from '../formats/adapter.ts'
import { BLOCKS } from '../formats/dtypes.ts'
import { shown } from '../formats/malformed.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { type Change, merged, shifted } from './merge.ts'

/** An adapter and the factor that multiplies it. */
export interface ScaledAdapter {
  readonly adapter: Adapter
  readonly scale: number
}

/**
 * The graph of an adapted model. If the adapters untie the output from the table, the output gets a matrix of
 * its own.
 */
export interface Adapted {
  readonly weights: Weights
  readonly config: ModelConfig
}

/**
 * W + scale * B * A for each matrix that an adapter changes; with DoRA, its rows are then scaled to the norms
 * given by the adapter. Sums are f64, rounded to f32 or to the file's F16 or BF16. Quantised matrices are
 * dequantised first, for the norms too, and become 8-bit groups, because 4-bit codes would round most of an
 * adapter away. Throws `architecture` for an adapter of another model, `unsupported` for matrices stored
 * without their zeros, for ranks and scales that no adapter needs, and for whole tensors with a scale.
 * Reading throws `format` for values that are not finite, `unsupported` for sums that are too large.
 */
export function adaptWeights(
  weights: Weights,
  config: ModelConfig,
  adapters: readonly ScaledAdapter[],
): Adapted {
  const adapted = untied(withBases(weights, config, adapters), config, adapters)
  const all = new Map(adapted.weights)
  const changes = new Map<string, Change[]>()
  const shifts = new Map<string, (Shift & Pick<Change, 'rowOf'>)[]>()
  const replaced = new Set<string>()
  for (const scaled of adapters) {
    const used = new Names(scaled.adapter)
    for (const expected of expectedTensors(scaled.adapter.format, adapted.config)) {
      const { name } = expected
      const base = all.get(name)
      if (base === undefined) continue
      const fit = new Fit(scaled, adapted.config, expected)
      const whole = used.take(expected, 'replacements')
      if (whole !== undefined && !whole.isBase) {
        if (replaced.has(name)) throw replacedTwice(scaled.adapter.name, whole.tensor)
        replaced.add(name)
        all.set(name, fit.replacement(whole, base))
      }
      const change = used.take(expected, 'changes')
      if (change !== undefined) listOf(changes, name).push(fit.change(change))
      const shift = used.take(expected, 'shifts')
      if (shift !== undefined) listOf(shifts, name).push(fit.shift(shift))
    }
    used.checkEmpty()
  }
  for (const [name, list] of changes) all.set(name, merged(all.get(name)!, list))
  for (const [name, list] of shifts) all.set(name, shifted(all.get(name)!, list))
  return { weights: all, config: adapted.config }
}

function listOf<T>(lists: Map<string, T[]>, name: string): T[] {
  const list = lists.get(name) ?? []
  lists.set(name, list)
  return list
}

type Kind = 'changes' | 'replacements' | 'shifts'
const KINDS = ['changes', 'replacements', 'shifts'] as const

/** The names that an adapter changes, minus those already found in the model. */
class Names {
  readonly #adapter: Adapter
  readonly #left: Set<string>

  constructor(adapter: Adapter) {
    this.#adapter = adapter
    this.#left = new Set(KINDS.flatMap((kind) => [...(adapter[kind]?.keys() ?? [])]))
  }

  take<K extends Kind>({ place }: ExpectedTensor, kind: K) {
    const of = this.#adapter[kind] as Adapter[K]
    const found = foundName(of, place.tensor)
    if (found === undefined) return undefined
    this.#left.delete(found)
    return of?.get(found) as Taken[K] | undefined
  }

  /** Throws `architecture` if the model lacks one. */
  checkEmpty(): void {
    const [first] = this.#left
    if (first === undefined) return
    const count = this.#left.size
    throw otherModel(
      this.#adapter.name,
      `changes ${count} tensors that the model does not have, such as ${shown(first)}`,
    )
  }
}

type Taken = { [K in Kind]: NonNullable<Adapter[K]> extends ReadonlyMap<string, infer T> ? T : never }

/** `place` may hold several names, separated by |. */
const foundName = (of: ReadonlyMap<string, unknown> | undefined, place: string): string | undefined =>
  place.split('|').find((name) => of?.has(name))

/** The weights with the changes from the adapters' files. A tied output shares them. */
function withBases(weights: Weights, config: ModelConfig, adapters: readonly ScaledAdapter[]): Weights {
  const all = new Map(weights)
  for (const scaled of adapters) {
    const { replacements, format } = scaled.adapter
    if (replacements === undefined || replacements.size === 0) continue
    for (const expected of expectedTensors(format, { ...config, tiedEmbeddings: false })) {
      const found = foundName(replacements, expected.place.tensor)
      const whole = found === undefined ? undefined : replacements.get(found)
      const name = config.tiedEmbeddings && expected.name === OUTPUT ? TABLE : expected.name
      const base = all.get(name)
      if (whole?.isBase !== true || base === undefined) continue
      all.set(name, new Fit(scaled, config, expected).replacement(whole, base))
    }
  }
  return all
}

const TABLE = 'embed.weight'
const OUTPUT = 'output.weight'

/** In a tied model, PEFT changes either the table or the logits matrix and leaves the other unchanged. */
function untied(weights: Weights, config: ModelConfig, adapters: readonly ScaledAdapter[]): Adapted {
  const table = weights.get(TABLE)
  if (!config.tiedEmbeddings || table === undefined) return { weights, config }
  const apart = { ...config, tiedEmbeddings: false }
  const isUntied = adapters.some(({ adapter }) => {
    if (adapter.format !== 'safetensors') return false
    const ends = [...expectedTensors(adapter.format, apart)].filter(({ name }) =>
      [TABLE, OUTPUT].includes(name),
    )
    return ends.some(({ place }) =>
      KINDS.some((kind) => foundName(adapter[kind], place.tensor) !== undefined),
    )
  })
  if (!isUntied) return { weights, config }
  return { weights: new Map([...weights, [OUTPUT, table]]), config: apart }
}

/** Applies an adapter to a weight of the model. */
class Fit {
  readonly #file: string
  readonly #scale: number
  readonly #config: ModelConfig
  readonly #expected: ExpectedTensor
  readonly #isReordered: boolean

  constructor({ adapter, scale }: ScaledAdapter, config: ModelConfig, expected: ExpectedTensor) {
    const { name: file, format, architecture } = adapter
    const { gguf, hf } = familyFile(config.family)
    if (format === 'gguf' && architecture !== gguf.architecture)
      throw otherModel(file, `is for ${shown(architecture)}`)
    this.#file = file
    this.#scale = scale
    this.#config = config
    this.#expected = expected
    // llama.cpp's converter interleaves the halves of each Q and K head in some families.
    const pairing = format === 'gguf' ? gguf.pairing : (hf.pairing ?? 'halves')
    this.#isReordered = pairing !== config.rope.pairing && /attn_[qk]\.(weight|bias)$/.test(expected.name)
  }

  change(change: LowRank): Change {
    const { shape, place } = this.#expected
    const [n = 0, k = 0] = shape
    const [outputs, inputs] = changedShape(change)
    const rows = place.shape?.[0] ?? n
    const tensor = change.down.name
    if (shape.length !== 2 || inputs !== k || outputs !== rows) {
      throw otherModel(
        this.#file,
        `changes ${shown(place.tensor)} as [${outputs}, ${inputs}], which is [${rows}, ${k}] in this model`,
      )
    }
    const { magnitude, isTable } = change
    const lengths = isTable === true ? k : rows
    if (magnitude !== undefined && !(magnitude.shape.length === 1 && magnitude.shape[0] === lengths))
      throw otherModel(
        this.#file,
        `has ${shown(magnitude.name)} [${magnitude.shape}] instead of [${lengths}]`,
      )
    const rank = change.down.shape[0] ?? 0
    if (rank > Math.max(rows, k)) {
      throw new HalfbyteError(
        'unsupported',
        `${this.#file}: the adapter changes ${shown(place.tensor)} [${rows}, ${k}] with rank ${rank}, which takes more ` +
          'memory than the matrix; merge it into its model and load that',
        { file: this.#file, tensor, rank },
      )
    }
    return { ...change, scale: this.#factor(change.scale), rowOf: this.#rowOf() }
  }

  shift({ tensor, scale }: Shift): Shift & Pick<Change, 'rowOf'> {
    const { shape, place } = this.#expected
    const rows = place.shape?.[0] ?? shape[0] ?? 0
    if (tensor.shape.length !== 1 || tensor.shape[0] !== rows)
      throw otherModel(this.#file, `has ${shown(tensor.name)} [${tensor.shape}] instead of [${rows}]`)
    return { tensor, scale: this.#factor(scale), rowOf: this.#rowOf() }
  }

  /** A complete tensor, stored in the same way as the one it replaces. */
  replacement({ tensor, isBase }: Replacement, base: TensorInfo): TensorInfo {
    const { shape, place } = this.#expected
    if (this.#scale !== 1 && !isBase)
      throw this.#unsupported(
        `has ${shown(tensor.name)}, a whole tensor, which cannot be scaled; load it with scale 1`,
      )
    if (this.#isReordered)
      throw this.#unsupported(
        `has ${shown(tensor.name)}, whose rows this GGUF keeps in a different order; load the model from safetensors`,
      )
    const { dtype, like = dtype } = base
    const isCoded = base.packed !== undefined || BLOCKS[like].elements > 1
    const whole = weightAt(this.#file, tensor, place, shape)
    return isCoded && shape.length === 2 ? { ...whole, like: 'Q8_0' } : whole
  }

  #unsupported(what: string): HalfbyteError {
    return new HalfbyteError('unsupported', `${this.#file}: the adapter ${what}`, { file: this.#file })
  }

  #factor(own: number): number {
    const factor = own * this.#scale
    if (Number.isFinite(factor)) return factor
    throw new HalfbyteError(
      'unsupported',
      `${this.#file}: the adapter's scale ${own} times ${this.#scale} is too large; choose a smaller scale`,
      { file: this.#file, scale: this.#scale },
    )
  }

  /** The row of the stored matrix that holds a row of the weight. */
  #rowOf(): (row: number) => number {
    const { shape, place } = this.#expected
    const [n = 0] = shape
    const order = (place.runs ?? [[0, n]]).flatMap(([first, count]) =>
      Array.from({ length: count }, (_, index) => first + index),
    )
    if (!this.#isReordered) return (row) => order[row]!
    const { headDim, rope } = this.#config
    const half = headDim / 2
    return (row) => {
      const within = row % headDim
      const from =
        rope.pairing === 'interleaved'
          ? Math.floor(within / 2) + (within % 2) * half
          : 2 * (within % half) + Math.floor(within / half)
      return order[row - within + from]!
    }
  }
}

const otherModel = (file: string, what: string): HalfbyteError =>
  new HalfbyteError('architecture', `${file}: the adapter ${what}; it was made for a different model`)

const replacedTwice = (file: string, { name }: TensorInfo): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file}: another adapter has ${shown(name)} too, and only one can replace the model's; load one of them`,
    { file, tensor: name },
  )
