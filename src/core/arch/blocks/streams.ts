// Layers on a residual with several streams (AltUp), with a low-rank matrix parallel to attention (LAuReL).
import { GROUP_SIZE, roundUp } from '../../abi/encodings.ts'
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { StreamsConfig } from '../config/config.ts'
import { attention } from './attention.ts'
import { feedForward } from './feed-forward.ts'
import { gatedInput, layerInputs } from './layer-embedding.ts'
import type { Framing, Parts } from './parts.ts'

/** Lower bound of the mean square of a stream that is rescaled to match another. */
const LEAST = 1e-5

/** The layers of families with `streams`. Validation guarantees that the configuration has this field. */
export const streamed: Framing = (parts, _, embedded) => {
  const { layerEmbedding, streams, name } = parts.config
  if (layerEmbedding === undefined || streams === undefined) throw new RangeError(`${name} has no streams`)
  const all = new Streams(parts, streams)
  const inputOf = layerInputs(parts, embedded, layerEmbedding)
  return {
    first: all.spread(embedded),
    each(layer, x) {
      const predicted = all.predict(layer, x)
      const made = layerOn(parts, layer, all.active(predicted, layer))
      const corrected = all.correct(layer, predicted, made)
      return all.addToOthers(layer, corrected, inputOf(layer))
    },
    leave: (x) => all.merge(x),
  }
}

/** Runs a layer on one stream. */
function layerOn(parts: Parts, layer: number, x: Value): Value {
  const { b, norm, config } = parts
  const { hiddenSize, streams } = config
  const at = `layers.${layer}`
  const normed = norm(`${at}.attn_norm`, x, layer)
  const rank = streams?.besideRank ?? 1
  const low = b.linear(`${at}.laurel`, normed, matrix(hiddenSize, { [`${at}.laurel_left.weight`]: rank }))
  const high = b.linear(`${at}.laurel_rows`, low, matrix(rank, { [`${at}.laurel_right.weight`]: hiddenSize }))
  const beside = b.add(`${at}.laurel_sum`, norm(`${at}.laurel_norm`, high, layer), normed)
  const attended = norm(`${at}.attn_post_norm`, attention(parts, layer, normed), layer)
  const both = b.add(`${at}.attn_beside`, b.add(`${at}.attn_sum`, attended, x), beside)
  const mixed = b.rescale(`${at}.attn_mixed`, both, Math.SQRT1_2, 0)
  const made = norm(
    `${at}.mlp_post_norm`,
    feedForward(parts, layer, norm(`${at}.mlp_norm`, mixed, layer)),
    layer,
  )
  return b.add(`${at}.mlp_sum`, made, mixed)
}

/** Values whose rows hold all streams. Each stream starts at a group boundary. */
class Streams {
  readonly #parts: Parts
  readonly #streams: StreamsConfig
  readonly #width: number
  readonly #apart: number

  constructor(parts: Parts, streams: StreamsConfig) {
    this.#parts = parts
    this.#streams = streams
    this.#width = parts.config.hiddenSize
    this.#apart = roundUp(this.#width, GROUP_SIZE)
  }

  /** The embeddings, and projections of them rescaled to the same magnitude. */
  spread(x: Value): Value {
    let all = this.#width === this.#apart ? x : this.#joined('streams.0', x)
    for (let i = 1; i < this.#streams.count; i++) {
      const matched = this.#matched(`streams.${i}`, x, this.#projected('stream_in', i, x))
      all = this.#joined(`streams.0-${i}`, matched, all, i)
    }
    return all
  }

  /** The mean of the first stream and of projections of the others, rescaled to its magnitude. */
  merge(all: Value): Value {
    const { b } = this.#parts
    const { count } = this.#streams
    const first = this.#stream(all, 0, 'streams.first')
    let sum = first
    for (let i = 1; i < count; i++) {
      const product = this.#projected('stream_out', i, this.#stream(all, i, `streams.last.${i}`))
      sum = b.add(`streams.sum.${i}`, this.#matched(`streams.merged.${i}`, first, product), sum)
    }
    return b.rescale('streams.mean', sum, 1 / count, 0)
  }

  active(all: Value, layer: number): Value {
    return this.#stream(all, this.#streams.active, `layers.${layer}.active`)
  }

  /** All streams, each plus a mixture of them. */
  predict(layer: number, all: Value): Value {
    const { count, active } = this.#streams
    const at = `layers.${layer}.predicted`
    const coefficients = this.#coefficients(
      layer,
      'predict',
      this.#stream(all, active, `${at}_by`),
      count * count,
    )
    return this.#mixed(at, all, all, { coefficients, offset: 0, first: 0 })
  }

  /** Adds each stream's share of the layer's change to the active one. Overwrites `all`. */
  correct(layer: number, all: Value, made: Value): Value {
    const { b } = this.#parts
    const { count } = this.#streams
    const at = `layers.${layer}`
    const coefficients = this.#coefficients(layer, 'correct', made, count)
    const change = b.add(`${at}.changed`, made, this.active(all, layer), -1)
    return this.#mixed(`${at}.corrected`, all, change, { coefficients, offset: 1, first: 0 })
  }

  /** Adds the layer's input, gated by the active stream, to all streams but the first. */
  addToOthers(layer: number, all: Value, input: Value): Value {
    const { b } = this.#parts
    const at = `layers.${layer}`
    const active = this.#stream(all, this.#streams.active, `${at}.corrected_active`)
    const weight = vector({ [`${at}.stream_scale.weight`]: this.#width })
    const scaled = this.#streams.isScaled
      ? b.node(`${at}.stream_scaled`, { op: 'weigh', input: active, weight })
      : active
    const added = gatedInput(this.#parts, layer, scaled, input)
    return this.#mixed(`${at}.streams`, all, added, { offset: 1, first: 1 })
  }

  #coefficients(layer: number, kind: 'predict' | 'correct', x: Value, n: number): Value {
    const { b, config } = this.#parts
    const { count } = this.#streams
    const at = `layers.${layer}`
    const norm = vector({ [`${at}.stream_router_norm.weight`]: this.#width })
    const normed = b.rmsnorm(`${at}.${kind}_norm`, x, norm, config.normEpsilon)
    const router = matrix(this.#width, { [`${at}.stream_router.weight`]: count })
    // A cap of 1 makes this tanh.
    const routed = b.rescale(`${at}.${kind}_tanh`, b.linear(`${at}.${kind}_routed`, normed, router), 1, 1)
    return b.linear(
      `${at}.${kind}_coefficients`,
      routed,
      matrix(count, { [`${at}.stream_${kind}.weight`]: n }),
    )
  }

  #stream(all: Value, index: number, label: string): Value {
    const start = index * this.#apart
    return this.#parts.b.node(label, { op: 'slice', input: all, start, width: this.#width })
  }

  #projected(name: string, index: number, x: Value): Value {
    const weight = matrix(this.#width, { [`${name}.${index}.weight`]: this.#width })
    return this.#parts.b.linear(`${name}.${index}`, x, weight)
  }

  #matched(label: string, by: Value, input: Value): Value {
    return this.#parts.b.node(label, { op: 'matchRms', input, by, least: LEAST })
  }

  /** Appends a stream after the `before` streams of `all`. */
  #joined(label: string, input: Value, shared?: Value, before = 0): Value {
    const own = this.#width
    const width = (before + 1) * this.#apart
    return this.#parts.b.node(label, { op: 'joinHeads', input, shared, heads: 1, own, width })
  }

  #mixed(
    label: string,
    x: Value,
    z: Value,
    of: { readonly coefficients?: Value; readonly offset: number; readonly first: number },
  ): Value {
    return this.#parts.b.node(label, {
      op: 'mixStreams',
      ...{ x, z, width: this.#width, apart: this.#apart, ...of },
    })
  }
}
