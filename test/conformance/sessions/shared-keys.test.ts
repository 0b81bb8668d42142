// Sessions of models whose last layers reuse the keys of earlier ones. In: small random Gemma 3n and Gemma 4
// models. Out: whether only layers with their own keys have state, and whether it can be forked, saved and
// shifted as usual.
import '../../../scripts/test/rare-families.ts'
import { describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { BUILDS } from '../testing/builds.ts'
import { storedCases } from '../testing/families/dense-cases.ts'
import { drawFamily, familySafetensors } from '../testing/families/family-files.ts'
import { VOCABULARY } from '../testing/families/family-tensors.ts'
import { largestDifference, logitsOf, openEngine, withBuilt } from '../testing/node-engine.ts'

const SIZES = { hidden: 76, heads: 4, kvHeads: 2, headDim: 16, wide: 96, context: 256 }
const TOKENS = Array.from({ length: 150 }, (_, index) => (index * 53 + ((index * index) % 17)) % 250)
const GREEDY = { temperature: 0, maxTokens: 12 } as const
const QUESTION = 'tell me where the river goes when the rain falls on the hills'
const COMMON = {
  // The last three layers have no keys.
  layer_types: [
    'sliding_attention',
    'full_attention',
    'sliding_attention',
    'sliding_attention',
    'full_attention',
  ],
  num_kv_shared_layers: 3,
  sliding_window: 20,
  tie_word_embeddings: true,
  vocab_size_per_layer_input: VOCABULARY - 3,
  hidden_size_per_layer_input: 24,
}
const CASES = [
  {
    family: 'gemma3n',
    layers: 5,
    config: { ...COMMON, activation_sparsity_pattern: [0.9, 0.5, 0, 0.7, 0], laurel_rank: 8 },
    gguf: { keys: {} },
  },
  {
    family: 'gemma4',
    layers: 5,
    config: { ...COMMON, global_head_dim: 32 },
    extra: [0.5, 1.5, 1, 0.75, 1.25].map(
      (value, layer) =>
        ({ name: `model.layers.${layer}.layer_scalar`, shape: [1], kind: 'norm', value }) as const,
    ),
    gguf: { keys: {} },
  },
]

describe.each(CASES)('$family', (one) => {
  const [made] = storedCases([one], SIZES)
  const own = { ...made!, sizes: SIZES }
  const files = familySafetensors(own, drawFamily(own, 3))

  test('only layers with their own keys have state, in a group with a window and one without', async () => {
    const file = await openModel(files.map((each) => blobSource(each.name, each)))
    const { plan } = await prepareModel(file, { weights: 'f32' })
    expect(plan.stateGroups.map(({ window, layers }) => ({ window, layers }))).toEqual([
      { window: 20, layers: [0] },
      { window: 0, layers: [1] },
    ])
  })

  test.each([
    { k: 'f32', v: 'f32' },
    { k: 'int8', v: 'int8' },
  ] as const)('chunks and builds give the same bits with keys as $k', async (kvCache) => {
    const found: Float32Array[][] = []
    for (const build of BUILDS) {
      await withBuilt(files, { ...build, kvCache, weights: 'f32' }, async (built) => {
        found.push(await logitsOf(built, TOKENS))
        const rows: Float32Array[] = []
        const sequence = built.newSequence()
        for (let end = 7; end < TOKENS.length + 7; end += 7) {
          sequence.setTokens(TOKENS.slice(0, end))
          await built.scheduler.forward({
            sequence,
            logits: 'all',
            onLogits: (position, row) => {
              rows[position] = row.slice()
            },
          })
        }
        sequence.release()
        found.push(rows)
      })
    }
    for (const rows of found) expect(largestDifference(rows, found[0]!)).toBe(0)
  })

  test('a fork and a restored session continue like the original', async () => {
    await using engine = await openEngine(files)
    const session = engine.createSession()
    await session.send(QUESTION, GREEDY).result
    const copy = await session.fork()
    const saved = await session.save()
    const second = await session.send('and then', GREEDY).result
    expect((await copy.send('and then', GREEDY).result).tokens).toEqual(second.tokens)
    const restored = await engine.restoreSession(saved)
    const third = await restored.send('and then', GREEDY).result
    expect(third.tokens).toEqual(second.tokens)
    expect(third.usage.cachedTokens).toBeGreaterThan(0)
  })

  test('a full context drops its oldest tokens and continues', async () => {
    await using engine = await openEngine(files, { contextLength: 128 })
    const session = engine.createSession({ overflow: 'shift' })
    const reply = await session.send(QUESTION, { temperature: 0, maxTokens: 150 }).result
    expect(reply.tokens.length).toBeGreaterThan(64)
  })
})
