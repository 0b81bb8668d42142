// Tests which of several ONNX graphs is used for a model, and how a wrong choice is rejected.
import { expect, test } from 'vitest'
import { chooseGraph, GRAPH_DTYPES, graphNames } from './graph-files.ts'

test('every precision has the same file name as in transformers.js', () => {
  const names = GRAPH_DTYPES.map((dtype) => [dtype, graphNames(dtype)[0]])
  expect(Object.fromEntries(names)).toEqual({
    fp32: 'model.onnx',
    fp16: 'model_fp16.onnx',
    q8: 'model_quantized.onnx',
    int8: 'model_int8.onnx',
    uint8: 'model_uint8.onnx',
    q4: 'model_q4.onnx',
    q4f16: 'model_q4f16.onnx',
    bnb4: 'model_bnb4.onnx',
  })
})

test.each([
  ['the only graph, whatever its name', ['a.json', 'decoder.onnx'], undefined, 'decoder.onnx'],
  [
    'the smallest of those with standard names',
    ['model.onnx', 'model_q4.onnx', 'vision.onnx'],
    undefined,
    'model_q4.onnx',
  ],
  [
    'a merged decoder',
    ['decoder_model.onnx', 'decoder_model_merged.onnx'],
    undefined,
    'decoder_model_merged.onnx',
  ],
  [
    'the one with the requested dtype',
    ['model.onnx', 'onnx/model_fp16.onnx'],
    'fp16',
    'onnx/model_fp16.onnx',
  ],
] as const)('%s', (_, names, dtype, chosen) => {
  expect(chooseGraph(names, dtype)).toBe(chosen)
})

test.each([
  [['a.onnx', 'b.onnx'], undefined, /2 ONNX graphs \(a.onnx, b.onnx\)/],
  [['model.onnx'], 'q4', /no graph model_q4.onnx for dtype q4; they have model.onnx/],
  [[], 'q4', /they have none/],
] as const)('%j with dtype %s is rejected by name', (names, dtype, message) => {
  expect(() => chooseGraph(names, dtype)).toThrow(message)
  expect(() => chooseGraph(names, dtype)).toThrow(expect.objectContaining({ code: 'format' }))
})
