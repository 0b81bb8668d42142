// Rejection messages. In: a node and an unsupported value, or a graph without a layer. Out: whether the
// message gives the value's shape and the nearest supported form.
import { expect, test } from 'vitest'
import type { Graph, Node } from '../ir/graph.ts'
import { whyNoDecoder, whyUnread } from './refusals.ts'

const nodeOf = (op: string): Node => ({
  name: op,
  op,
  domain: '',
  version: 17,
  attributes: new Map(),
  inputs: ['x'],
  outputs: ['y'],
})

const rows = { name: 'x', meaning: { is: 'control', name: 'x' }, dims: ['batch', 'tokens', 64] } as const

test.each([
  [
    'Relu',
    false,
    'it reads x of shape [batch, tokens, 64] (control), and this operator is not supported: SiLU',
  ],
  [
    'QMoE',
    false,
    'it reads x of shape [batch, tokens, 64] (control), and this operator is not supported: experts',
  ],
  [
    'If',
    false,
    'it reads x of shape [batch, tokens, 64] (control), and this operator is not supported: an If is supported',
  ],
  [
    'Slice',
    true,
    'it reads x of shape [batch, tokens, 64] (control), and this form is not supported: rows can be sliced',
  ],
])('%s names the shape and the nearest form', (op, isKnown, begin) => {
  expect(whyUnread(nodeOf(op), rows, isKnown).slice(0, begin.length)).toBe(begin)
})

test('operators without a similar form and values of unknown shape are described', () => {
  const seen = { name: 'x', meaning: undefined, dims: undefined }
  expect(whyUnread(nodeOf('Det'), seen, false)).toBe(
    'it reads x (not part of a step), and this operator is not supported',
  )
})

test('a graph without attention is described by its inputs and outputs', () => {
  const inputs = ['pixels', 'mask', 'a', 'b', 'c'].map((name) => ({ name }))
  const graph = { inputs, outputs: ['features'], constants: new Map(), nodes: [] } as unknown as Graph
  expect(whyNoDecoder(graph, ['batch', 768])).toBe(
    'nothing between the inputs pixels, mask, a, b and others and the output features of shape [batch, 768] ' +
      'attends or keeps a state; text decoders do, and produce logits [batch, tokens, vocabulary] from input_ids',
  )
})
