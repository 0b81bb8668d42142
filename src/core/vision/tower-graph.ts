// Builds the graphs of a vision tower and of its projector.
//
// The tower: A. Dosovitskiy and others, "An Image is Worth 16x16 Words", 2021, with norms before each block,
// as in CLIP and SigLIP.

import type { GraphBuilder } from '../graph/builder.ts'
import { matrix, vector } from '../graph/builder.ts'
import { EVERY_POSITION, type Value } from '../graph/ir.ts'
import type { Graph } from '../graph/nodes.ts'
import { gatheredWidth, hasGates, isPlaced, type Tower, towerRows } from './tower.ts'

/** Every layer overwrites the previous layer's keys and values, which are no longer needed. */
const ONE_LAYER = 0
const QUICK = 1.702

type Builder = GraphBuilder

/**
 * From patches [rows][channel, y, x] to hidden states. The position table contains the vectors added to each
 * patch, and the row of the class embedding.
 */
export function towerGraph(tower: Tower, b: Builder): Graph {
  const { hiddenSize, heads, layers, normEpsilon, patchSize } = tower
  const headDim = hiddenSize / heads
  const norm = (name: string, input: Value): Value => {
    const weight = vector({ [`${name}.weight`]: hiddenSize })
    if (hasGates(tower)) return b.rmsnorm(name, input, weight, normEpsilon)
    return b.layernorm(name, input, weight, vector({ [`${name}.bias`]: hiddenSize }), normEpsilon)
  }
  const patches = 3 * patchSize * patchSize
  const pixels = b.inputRows('patches', patches)
  const seen = b.linear('patch_product', pixels, matrix(patches, { 'patch.weight': hiddenSize }))
  const positions = matrix(hiddenSize, { 'positions.weight': towerRows(tower) })
  const placed = isPlaced(tower) ? seen : b.add('embedded', seen, b.embedPositions('positions', positions))
  let x = tower.hasPreNorm ? norm('pre_norm', placed) : placed
  const shape = { layer: ONE_LAYER, heads, kvHeads: heads, headDim, window: 0, after: EVERY_POSITION }
  const rope = { table: 0, dims: isPlaced(tower) ? headDim : 0, pairing: 'halves' } as const
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    const parts = (kind: 'weight' | 'bias') =>
      Object.fromEntries(['q', 'k', 'v'].map((part) => [`${at}.attn_${part}.${kind}`, hiddenSize]))
    const weight = matrix(hiddenSize, parts('weight'))
    const qkv = b.linear(`${at}.attn_qkv`, norm(`${at}.attn_norm`, x), weight, vector(parts('bias')))
    const attended = b.attend(`${at}.attn`, b.parts(qkv, weight), shape, rope)
    x = b.add(`${at}.attn_sum`, x, linear(b, `${at}.attn_output`, attended, hiddenSize))
    const inner = innerOf(tower, b, at, norm(`${at}.mlp_norm`, x))
    x = b.add(`${at}.mlp_sum`, x, linear(b, `${at}.mlp_down`, inner, hiddenSize))
  }
  return b.finish(tower.hasPostNorm ? norm('post_norm', x) : x)
}

/** The input of the second product of a feed-forward block. */
function innerOf(tower: Tower, b: Builder, at: string, input: Value): Value {
  const { intermediateSize, hiddenSize, activation } = tower
  if (!hasGates(tower))
    return activate(b, `${at}.mlp_act`, linear(b, `${at}.mlp_up`, input, intermediateSize), activation)
  const parts = (kind: 'weight' | 'bias') =>
    Object.fromEntries(['gate', 'up'].map((part) => [`${at}.mlp_${part}.${kind}`, intermediateSize]))
  const weight = matrix(hiddenSize, parts('weight'))
  const gateUp = b.linear(`${at}.mlp_gate_up`, input, weight, vector(parts('bias')))
  return b.swiglu(`${at}.mlp_act`, b.parts(gateUp, weight))
}

/**
 * From rows of the tower to rows of the language model: single rows, the rows of a square side by side, or
 * their mean.
 */
export function projectorGraph(tower: Tower, b: Builder): Graph {
  const { projector, hiddenSize, normEpsilon, width, projectorActivation } = tower
  const input = b.inputRows('states', gatheredWidth(tower))
  if (projector === 'gemma3') {
    const normed = b.rmsnorm('pooled_norm', input, vector({ 'pooled_norm.weight': hiddenSize }), normEpsilon)
    return b.finish(b.linear('projected', normed, matrix(hiddenSize, { 'project.weight': width })))
  }
  if (projector === 'idefics3') {
    return b.finish(b.linear('projected', input, matrix(input.shape[1], { 'project.weight': width })))
  }
  const innerWidth = isPlaced(tower) ? input.shape[1] : width
  const inner = b.swiglu('inner_act', [linear(b, 'inner', input, innerWidth)], projectorActivation)
  return b.finish(linear(b, 'project', inner, width))
}

const linear = (b: Builder, name: string, input: Value, n: number): Value =>
  b.linear(
    `${name}_product`,
    input,
    matrix(input.shape[1], { [`${name}.weight`]: n }),
    vector({ [`${name}.bias`]: n }),
  )

/** x sigmoid(1.702 x) is silu(1.702 x) / 1.702. */
function activate(b: Builder, name: string, input: Value, activation: Tower['activation']): Value {
  if (activation !== 'quick_gelu') return b.swiglu(name, [input], activation)
  const wide = b.rescale(`${name}_wide`, input, QUICK, 0)
  return b.rescale(`${name}_narrow`, b.swiglu(name, [wide], 'silu'), 1 / QUICK, 0)
}
