// Sentences of refusals. In: a node and the value that no step has there, or a graph without a layer. Out:
// whether the sentence has the shape that was seen and the nearest form that is read.
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
    'it reads x of shape [batch, tokens, 64] (control), and no step has such an operator: activations',
  ],
  [
    'QMoE',
    false,
    'it reads x of shape [batch, tokens, 64] (control), and no step has such an operator: experts',
  ],
  [
    'If',
    false,
    'it reads x of shape [batch, tokens, 64] (control), and no step has such an operator: an If is read',
  ],
  [
    'Slice',
    true,
    'it reads x of shape [batch, tokens, 64] (control), and no step has it in this form: rows are cut',
  ],
])('%s names the shape and the nearest form', (op, isKnown, begin) => {
  expect(whyUnread(nodeOf(op), rows, isKnown).slice(0, begin.length)).toBe(begin)
})

test('an operator without a near form, and a value of unknown shape', () => {
  const seen = { name: 'x', meaning: undefined, dims: undefined }
  expect(whyUnread(nodeOf('Det'), seen, false)).toBe(
    'it reads x (no part of a step), and no step has such an operator',
  )
})

test('a graph that attends to nothing is described by its inputs and outputs', () => {
  const inputs = ['pixels', 'mask', 'a', 'b', 'c'].map((name) => ({ name }))
  const graph = { inputs, outputs: ['features'], constants: new Map(), nodes: [] } as unknown as Graph
  expect(whyNoDecoder(graph, ['batch', 768])).toBe(
    'nothing between the inputs pixels, mask, a, b and others and the output features of shape [batch, 768] ' +
      'attends or keeps a state, as decoders of text do, which make logits [batch, tokens, vocabulary] of input_ids',
  )
})
