// The comparison of plans with the evaluator. In: exports, one with its states in another order than their
// outputs. Out: both compute the same, since both pair states as the plan does.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadAndCompare } from './compare-onnx.ts'
import { withStateFirst } from './corpus/onnx.ts'

const exported = (name: string) =>
  new Uint8Array(readFileSync(join(import.meta.dirname, `../conformance/onnx/exports/${name}/model.onnx`)))

test.each([
  ['states in the order of their outputs', () => exported('multi-head-causal')],
  ['states in another order', withStateFirst],
  // The evaluator limits activations where the plan does, and rounds none to codes.
  ['activations that are limited', () => exported('qdq-limits')],
])('%s: plan and evaluator give the same logits', async (_, bytes) => {
  expect(await loadAndCompare(bytes(), 'nothing')).toBe('compared')
})
