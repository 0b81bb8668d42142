// Tests names. In: files of every format. Out: their tensors under one set of names, or an error that names
// the tensor.
import { describe, expect, test } from 'vitest'
import { checkShapes } from '../../graph/compile-graph.ts'
import type { ModelConfig } from '../config/config.ts'
import { buildGraph } from '../families.ts'
import { failureOf, ggufFile, hbmFile, hfFile, SMALL, withTensors } from '../testing/files.ts'
import { resolveWeights, roleOf } from './names.ts'
import { expectedTensors } from './tensor-names.ts'

const QWEN2: ModelConfig = { ...SMALL, family: 'qwen2', tiedEmbeddings: true }

/** Every weight that the graph of a configuration reads, with its shape. */
function readWeights(config: ModelConfig): Record<string, number[]> {
  const graph = buildGraph(config)
  checkShapes(graph)
  const found: Record<string, number[]> = {}
  for (const node of graph.nodes) {
    const refs = 'weight' in node ? [node.weight, 'bias' in node ? node.bias : undefined] : []
    for (const ref of [...refs, 'table' in node ? node.table : undefined]) {
      for (const { name, n } of ref?.parts ?? []) found[name] = ref?.kind === 'matrix' ? [n, ref.k] : [n]
    }
  }
  return found
}

describe.each([
  ['llama', SMALL],
  ['qwen2', QWEN2],
])('%s', (_, config) => {
  test.each([
    ['gguf', ggufFile],
    ['safetensors', hfFile],
    ['hbm', hbmFile],
  ])('%s files have exactly the weights that the graph reads, in their shapes', (_format, fileOf) => {
    const weights = resolveWeights(fileOf(config), config)
    const shapes = Object.fromEntries([...weights].map(([name, { shape }]) => [name, [...shape]]))
    expect(shapes).toEqual(readWeights(config))
  })
})

describe('resolveWeights', () => {
  test('names the missing tensor and the file format', async () => {
    const gguf = withTensors(ggufFile(SMALL), { 'blk.1.ffn_up.weight': undefined })
    const failure = await failureOf(() => resolveWeights(gguf, SMALL))
    expect(failure.code).toBe('architecture')
    expect(failure.message).toMatch(/gguf file has 20 tensors but not blk.1.ffn_up.weight/)
    const bias = withTensors(hfFile(QWEN2), { 'model.layers.0.self_attn.k_proj.bias': undefined })
    expect((await failureOf(() => resolveWeights(bias, QWEN2))).message).toMatch(/k_proj.bias/)
  })
  test('names both shapes if a tensor does not fit', async () => {
    const file = withTensors(hfFile(SMALL), { 'model.layers.0.mlp.down_proj.weight': [100, 48] })
    const failure = await failureOf(() => resolveWeights(file, SMALL))
    expect(failure.code).toBe('architecture')
    expect(failure.message).toMatch(/down_proj.weight" has the shape \[100,48\] .* makes it \[48,100\]/)
  })
  test('rejects a file with tensors that the graph would ignore', async () => {
    const file = withTensors(hfFile(SMALL), { 'model.layers.0.self_attn.q_norm.weight': [8] })
    const failure = await failureOf(() => resolveWeights(file, SMALL))
    expect(failure.code).toBe('unsupported')
    expect(failure.message).toMatch(/1 tensors that .*, such as "model.layers.0.self_attn.q_norm.weight"/)
  })
  test('ignores computable tensors and the second copy of a tied table', () => {
    const file = withTensors(hfFile(QWEN2), {
      'lm_head.weight': [70, 48],
      'model.layers.0.self_attn.rotary_emb.inv_freq': [4],
    })
    expect(resolveWeights(file, QWEN2).has('output.weight')).toBe(false)
    const gguf = withTensors(ggufFile(SMALL), { 'rope_freqs.weight': [4] })
    expect(resolveWeights(gguf, SMALL).size).toBe(21)
  })
  test('accepts a norm that is stored as a matrix with one row', () => {
    const file = withTensors(hfFile(SMALL), { 'model.norm.weight': [1, 48] })
    expect(resolveWeights(file, SMALL).get('norm.weight')?.shape).toEqual([1, 48])
  })
})

test('Q, K and V are read from one tensor if the file has no separate ones', () => {
  const config: ModelConfig = { ...SMALL, family: 'glm', biases: { qkv: true } }
  const { heads, kvHeads, headDim, hiddenSize } = config
  const rows = (heads + 2 * kvHeads) * headDim
  const shapes = [...expectedTensors('gguf', config)].map(({ shape, place }): [string, readonly number[]] => {
    const { tensor, shape: stored = shape } = place.orElse ?? place
    return [tensor, stored]
  })
  const file = withTensors({ ...ggufFile(config), tensors: new Map() }, Object.fromEntries(shapes))
  expect(file.tensors.get('blk.0.attn_qkv.weight')?.shape).toEqual([rows, hiddenSize])
  const weights = resolveWeights(file, config)
  const k = weights.get('layers.0.attn_k.weight')
  expect([k?.shape, k?.offset]).toEqual([[kvHeads * headDim, hiddenSize], heads * headDim * hiddenSize * 4])
  const v = weights.get('layers.1.attn_v.bias')
  expect([v?.shape, v?.offset]).toEqual([[kvHeads * headDim], (heads + kvHeads) * headDim * 4])
})

test('roles: two tables, norms and biases as vectors, the rest matrices', () => {
  const roles = Object.groupBy(
    Object.keys(readWeights({ ...QWEN2, layers: 1, tiedEmbeddings: false })),
    roleOf,
  )
  expect(roles.table).toEqual(['embed.weight', 'output.weight'])
  expect(roles.vector).toEqual([
    'layers.0.attn_norm.weight',
    'layers.0.attn_q.bias',
    'layers.0.attn_k.bias',
    'layers.0.attn_v.bias',
    'layers.0.mlp_norm.weight',
    'norm.weight',
  ])
  expect(roles.matrix).toHaveLength(7)
})
