// The contrib form of GPT-2. In: EmbedLayerNormalization and Attention. Out: embeddings of tokens and
// positions with their norm, and attention with its own product.
import { floatOf, intOf } from '../../ir/attributes.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { unclaimed, unfit } from '../../ir/operator.ts'
import { proveNumbers, provePositions } from '../prove-positions.ts'
import type { Handler, Translator } from '../translator.ts'
import { embedPositions, embedTokens } from './embed.ts'
import { leave } from './fused.ts'
import { layer } from './norms.ts'

/** Inputs: ids, segments, three tables, gamma, beta, mask, positions. Outputs: the norm, a mask, the sum. */
export const embedLayerNorm: Handler = async (t, node) => {
  if (t.read(node, 0)?.is !== 'ids') return false
  if (hasInput(node, 1) || hasInput(node, 4)) throw unclaimed(node, 'it adds embeddings of segments')
  if (hasInput(node, 8)) await provePositions(t, node, node.inputs[8]!, t.weights.constant(node, 3).dims[0])
  const tokens = embedTokens(t, node, 2)
  const sum = t.b.add(node.outputs[2] || `${node.name}.sum`, tokens, embedPositions(t, node, 3))
  t.setRows(node, 2, sum)
  t.setRows(node, 0, layer(t, node, sum, 5, 6))
  return true
}

const [MASK, PAST] = [3, 4]
/** What a step honours, or what changes nothing in it. */
const ATTRIBUTES: ReadonlySet<string> = new Set([
  ...['num_heads', 'unidirectional', 'scale', 'mask_filter_value', 'do_rotary', 'qkv_hidden_sizes'],
])

/** Inputs: rows, matrix and bias of queries, keys and values, mask, past. */
export const attention: Handler = async (t, node) => {
  if (!t.isRows(node, 0)) return false
  await checkForm(t, node)
  const input = t.rows(node, 0)
  const heads = intOf(node, 'num_heads', 0)
  const { weight, n } = t.weights.float(node, 1, false)
  const width = n / 3
  const headDim = width / heads
  if (!Number.isInteger(headDim))
    throw unfit(node, `rows of ${n} are no queries, keys and values of ${heads} heads`)
  const bias = hasInput(node, 2) ? t.weights.vector(node, 2, n, 'bias') : undefined
  const product = t.b.linear(`${node.name}.qkv`, input, weight, bias)
  const index = t.findings.layers++
  t.noteHeads(node, heads, heads, headDim)
  const scale = floatOf(node, 'scale', 0)
  const attended = t.b.attend(
    `layers.${index}.attn`,
    t.b.columns(product, { q: width, k: width, v: width }),
    { layer: index, heads, kvHeads: heads, headDim, window: 0 },
    { table: 0, dims: 0, pairing: 'halves' },
    { scale: scale === 0 ? undefined : scale },
  )
  t.setRows(node, 0, attended)
  leave(t, node, [PAST])
  return true
}

async function checkForm(t: Translator, node: Node): Promise<void> {
  if (intOf(node, 'unidirectional', 0) !== 1) throw unclaimed(node, 'its rows see what comes later')
  if (intOf(node, 'do_rotary', 0) !== 0) throw unclaimed(node, 'it rotates queries and keys')
  if (node.attributes.has('qkv_hidden_sizes'))
    throw unclaimed(node, 'its queries, keys and values differ in width')
  for (const name of node.attributes.keys())
    if (!ATTRIBUTES.has(name)) throw unclaimed(node, `its ${name} is not known`)
  if (hasInput(node, MASK)) {
    if (t.read(node, MASK)?.is !== 'control') throw unclaimed(node, 'its mask depends on tokens')
    await proveNumbers(t, node, node.inputs[MASK]!, 'ones, which hide nothing')
  }
  const hasPast = t.read(node, PAST)?.is === 'state'
  if (hasPast !== t.hasState || hasPast !== hasInput(node, PAST))
    throw unclaimed(node, 'its past is no state')
  if (hasInput(node, 5)) throw unclaimed(node, 'it adds a bias to its scores')
}
