// Parts of layers. In: scores or rows. Out: nodes that mask scores or activate rows, in the exporters'
// various forms.
import type { NodeWriter } from '../../../../src/network/onnx/testing/node-writer.ts'

/** The smallest float. */
export const LEAST = -3.4028234663852886e38

/** `mask`: values added to scores, visible positions, or hidden positions. */
export function masked(
  g: NodeWriter,
  scores: string,
  mask: string,
  form: 'added' | 'kept' | 'dropped',
): string {
  if (form === 'added') return g.op('Add', [scores, mask])
  const least = g.float(LEAST)
  return g.op('Where', form === 'kept' ? [mask, scores, least] : [mask, least, scores])
}

/** Turns `seen`, which is true for visible positions, into a mask of the given form. */
export function asForm(g: NodeWriter, seen: string, form: 'added' | 'kept' | 'dropped'): string {
  if (form === 'kept') return seen
  if (form === 'dropped') return g.op('Not', [seen])
  return g.op('Where', [seen, g.float(0), g.float(LEAST)])
}

/**
 * `silu`, `relu`: the activation of the gate, times `up`. `relu squared`, `relu power`: the activation of the
 * gate times itself, as a product or a power; `up` is left out.
 */
export type Activation = 'silu' | 'relu' | 'relu squared' | 'relu power'

export function activated(g: NodeWriter, gate: string, up: string, activation: Activation): string {
  if (activation === 'silu') return g.op('Mul', [g.op('Mul', [gate, g.op('Sigmoid', [gate])]), up])
  const above = g.op('Relu', [gate])
  if (activation === 'relu') return g.op('Mul', [above, up])
  return activation === 'relu power' ? g.op('Pow', [above, g.float(2)]) : g.op('Mul', [above, above])
}
