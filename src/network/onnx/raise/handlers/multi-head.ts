// The handler of MultiHeadAttention.

import { hasInput, type Node } from '../../ir/graph.ts'
import { floatOf, intOf, unclaimed } from '../../ir/operator.ts'
import type { Mask } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import { headsOf, leave, past } from './fused.ts'
import { attend } from './scores.ts'

const QUERY = 0
const KEY = 1
const VALUE = 2
const BIAS = 3
const PADDING = 4
const ADDED = 5
const PAST_KEY = 6
const PAST_VALUE = 7

export const multiHeadAttention: Handler = async (t, node) => {
  const count = intOf(node, 'num_heads', 0)
  const [q, k, v] = [QUERY, KEY, VALUE].map((index) => headsOf(t, node, index, count))
  if (q === undefined || k === undefined || v === undefined) return false
  if (hasInput(node, BIAS)) throw unclaimed(node, 'it adds a bias to its queries, keys and values')
  if (hasInput(node, PADDING)) throw unclaimed(node, 'it has a padding mask')
  const scale = (floatOf(node, 'scale', 0) || 1 / Math.sqrt(q.dim)) * q.scale * k.scale
  const value = await attend(
    t,
    node,
    {
      is: 'scores',
      q,
      k: past(t, node, k, PAST_KEY),
      scale,
      cap: 0,
      isSoft: true,
      mask: maskOf(t, node),
    },
    past(t, node, v, PAST_VALUE),
  )
  t.meanings.setRows(node, 0, value)
  leave(t, node, [PAST_KEY, PAST_VALUE])
  return true
}

/** `unidirectional` counts from the end of the past state, so it is a sufficient causal mask. */
function maskOf(t: Translator, node: Node): readonly Mask[] | 'causal' | undefined {
  const isCausal = intOf(node, 'unidirectional', 0) !== 0
  if (!hasInput(node, ADDED)) return isCausal ? 'causal' : undefined
  if (isCausal) throw unclaimed(node, 'it has a mask and is causal as well')
  const is = t.meanings.read(node, ADDED)?.is
  if (is !== 'control' && is !== 'constant') throw unclaimed(node, 'its mask depends on tokens')
  return [{ name: node.inputs[ADDED]!, form: 'added' }]
}
