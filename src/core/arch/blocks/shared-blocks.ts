// Blocks of attention and a feed-forward part that several recurrent layers share (Zamba 2). Such a layer
// runs one of them, with low-rank adapters of its own, before its recurrent part.
import { matrix } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { SharedBlocks } from '../config/config.ts'
import type { Framing, Mixer, Parts } from './parts.ts'

/**
 * The layers of families with `sharedBlocks`. Validation guarantees that the configuration has this field.
 */
export const withSharedBlocks =
  (recurrent: Mixer): Framing =>
  (parts, _, embedded) => {
    const { b, config, norm } = parts
    const { sharedBlocks, name } = config
    if (sharedBlocks === undefined) throw new RangeError(`${name} has no shared blocks`)
    return {
      each(layer, x) {
        const at = `layers.${layer}`
        const index = sharedBlocks.layers.indexOf(layer)
        const input =
          index < 0
            ? x
            : b.add(`${at}.block_sum`, blockOf(parts, sharedBlocks, { layer, index, x, embedded }), x)
        const mixed = recurrent(parts, layer, norm(`${at}.ssm_norm`, input, layer))
        return b.add(`${at}.ssm_sum`, x, mixed)
      },
    }
  }

interface Use {
  readonly layer: number
  /** The number of earlier layers that use a block. */
  readonly index: number
  readonly x: Value
  readonly embedded: Value
}

/** A block's output, projected by the layer. */
function blockOf(parts: Parts, blocks: SharedBlocks, use: Use): Value {
  const { b, config } = parts
  const { hiddenSize } = config
  const at = `layers.${use.layer}`
  const made = feedForward(parts, blocks, use, attention(parts, blocks, use))
  return b.linear(`${at}.block`, made, matrix(hiddenSize, { [`${at}.block_output.weight`]: hiddenSize }))
}

const nameOf = ({ count }: SharedBlocks, { index }: Use): string => `blocks.${index % count}`

function attention(parts: Parts, blocks: SharedBlocks, use: Use): Value {
  const { b, config, norm, linears } = parts
  const { hiddenSize, heads, kvHeads, headDim, rope } = config
  const [at, block] = [`layers.${use.layer}`, nameOf(blocks, use)]
  const both = b.node(`${at}.block_input`, {
    ...{
      op: 'joinHeads',
      shared: use.x,
      input: use.embedded,
      heads: 1,
      own: hiddenSize,
      width: 2 * hiddenSize,
    },
  })
  const input = norm(`${block}.attn_norm`, both, use.layer)
  const sizes = { q: heads * headDim, k: kvHeads * headDim, v: kvHeads * headDim }
  const names = Object.entries(sizes).map(([name, n]) => [`${block}.attn_${name}`, n] as const)
  const made = linears(`${at}.attn_qkv`, input, Object.fromEntries(names))
  const qkv = blocks.adaptsAttention
    ? Object.entries(sizes).map(([name, n], index) =>
        adapted(
          parts,
          `${at}.attn_${name}`,
          made[index] as Value,
          lowRows(parts, blocks, `${at}.attn_${name}`, input),
          n,
        ),
      )
    : made
  const shape = { layer: use.layer, heads, kvHeads, headDim, window: 0 }
  const rotation = { table: 0, dims: rope.dims, pairing: rope.pairing }
  const attended = b.attend(`${at}.attn`, qkv, shape, rotation, { scale: Math.sqrt(2 / headDim) })
  const output = matrix(heads * headDim, { [`${block}.attn_output.weight`]: hiddenSize })
  return b.linear(`${at}.attn_product`, attended, output)
}

function feedForward(parts: Parts, blocks: SharedBlocks, use: Use, attended: Value): Value {
  const { b, config, traits, norm, linears } = parts
  const { hiddenSize, intermediateSize: size, activation = traits.activation } = config
  const [at, block] = [`layers.${use.layer}`, nameOf(blocks, use)]
  const input = norm(`${block}.mlp_norm`, attended, use.layer)
  const names = { [`${block}.mlp_gate`]: size, [`${block}.mlp_up`]: size }
  const [gate, up] = linears(`${at}.mlp_gate_up`, input, names) as [Value, Value]
  const low = lowRows(parts, blocks, `${at}.mlp`, input)
  const pair = [
    adapted(parts, `${at}.mlp_gate`, gate, low, size),
    adapted(parts, `${at}.mlp_up`, up, low, size),
  ]
  const down = matrix(size, { [`${block}.mlp_down.weight`]: hiddenSize })
  return b.linear(`${at}.mlp_product`, b.swiglu(`${at}.mlp_act`, pair, activation), down)
}

/** The input of a layer's adapter, projected to its low rank. */
function lowRows({ b }: Parts, { rank }: SharedBlocks, name: string, input: Value): Value {
  return b.linear(`${name}_low`, input, matrix(input.shape[1], { [`${name}_adapter_in.weight`]: rank }))
}

/** The output of one of the block's matrices, plus the layer's adapter. */
function adapted({ b }: Parts, name: string, made: Value, low: Value, n: number): Value {
  const own = b.linear(`${name}_own`, low, matrix(low.shape[1], { [`${name}_adapter.weight`]: n }))
  return b.add(`${name}_adapted`, own, made)
}
