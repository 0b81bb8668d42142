// MiniMind2-small against ONNX Runtime. In: its ONNX file with 8-bit weights, and the safetensors converted
// from it. Out: whether Halfbyte's logits from both are close to ONNX Runtime's, at each position of several
// conversations.
//
// ONNX Runtime rounds the activations of each product to 8 bits with one scale for all rows of a run.
// Halfbyte uses F32 from safetensors, and one scale per 32 activations from ONNX. <|im_start|> causes
// activations hundreds of times larger than others, so in a run of many rows the others round to almost
// nothing (the relative error is 1). ONNX Runtime therefore gets one token at a time.
import { openAsBlob, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { requireModel } from '../../../scripts/models/real-models.mjs'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import {
  ChatTemplate,
  chatTemplateOf,
  chatTokens,
  encodeChat,
} from '../../../src/core/text/chat/chat-template.ts'
import { openGraph } from '../onnx/open-graph.ts'
import { logitsOf, relativeError, withModel } from '../testing/node-engine.ts'

interface Tensor {
  readonly data: Float32Array
}
/** The part of onnxruntime-web's API used here. */
interface Ort {
  readonly env: { readonly wasm: { numThreads: number } }
  readonly Tensor: new (type: string, data: BigInt64Array | Float32Array, shape: readonly number[]) => Tensor
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: object,
    ): Promise<{
      run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>
    }>
  }
}

const path = requireModel('minimind2')
const LAYERS = 8
const KV_HEADS = 2
const HEAD_DIM = 64
const TALKS = [
  ['What is the capital of France?', 'The capital of France is Paris.'],
  ['Why is the sky blue?', 'Because air scatters blue light more than red light.'],
  ['你好，你是谁？', '我是一个小型语言模型。'],
] as const
/** RMS of the differences relative to the RMS of the logits; measured: 0.09 to 0.10. */
const MAX_ERROR = 0.2
/** Share of positions at which both prefer the same token; measured: 0.86. */
const MIN_SAME = 0.75

/** onnxruntime-web, as installed for the perf suite. */
async function ortHere(): Promise<Ort | undefined> {
  try {
    const found = createRequire(import.meta.url).resolve('onnxruntime-web')
    return await import(pathToFileURL(found).href)
  } catch {
    return undefined
  }
}

async function theirLogits(ort: Ort, tokens: readonly number[]): Promise<Float32Array[]> {
  ort.env.wasm.numThreads = 1
  const model = readFileSync(join(path, '../onnx/model_quantized.onnx'))
  const session = await ort.InferenceSession.create(new Uint8Array(model), { executionProviders: ['wasm'] })
  const whole = (values: readonly number[]) =>
    new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length])
  let past = Object.fromEntries(
    Array.from({ length: LAYERS }, (_, layer) =>
      ['key', 'value'].map((part) => [
        `past_key_values.${layer}.${part}`,
        new ort.Tensor('float32', new Float32Array(0), [1, KV_HEADS, 0, HEAD_DIM]),
      ]),
    ).flat(),
  )
  const rows: Float32Array[] = []
  for (const [at, id] of tokens.entries()) {
    const { logits, ...present } = await session.run({
      input_ids: whole([id]),
      attention_mask: whole(tokens.slice(0, at + 1).map(() => 1)),
      position_ids: whole([at]),
      ...past,
    })
    rows.push(logits!.data)
    past = Object.fromEntries(
      Object.entries(present).map(([name, value]) => [name.replace('present', 'past_key_values'), value]),
    )
  }
  return rows
}

const best = (row: Float32Array): number => row.indexOf(row.reduce((most, each) => Math.max(most, each)))

const sources = (names: readonly string[]) =>
  Promise.all(
    names.map(async (name) => blobSource(name.split('/').at(-1)!, await openAsBlob(join(path, name)))),
  )
const FILES = {
  safetensors: async () => openModel(await sources(readdirSync(path))),
  onnx: async () => {
    const beside = ['tokenizer.json', 'tokenizer_config.json', 'config.json'].map((name) => `../${name}`)
    return openGraph(await sources(['../onnx/model_quantized.onnx', ...beside]))
  },
}

test.for(['safetensors', 'onnx'] as const)(
  "%s: gives logits close to ONNX Runtime's, and mostly the same best tokens",
  async (source, context) => {
    const ort = await ortHere()
    if (ort === undefined) return context.skip('skipped: onnxruntime-web is not installed')
    await withModel(await FILES[source](), { contextLength: 256 }, async (built) => {
      const { tokenizer } = built
      const template = new ChatTemplate(chatTemplateOf(tokenizer))
      let same = 0
      let all = 0
      for (const [question, reply] of TALKS) {
        const messages = [
          { role: 'user', content: question },
          { role: 'assistant', content: reply },
        ]
        const options = { ...chatTokens(tokenizer), addGenerationPrompt: false }
        const tokens = encodeChat(tokenizer, template.render(messages, options))
        const ours = await logitsOf(built, tokens)
        const theirs = await theirLogits(ort, tokens)
        const error = relativeError(ours, theirs)
        console.log(`${question} ${tokens.length} tokens, relative error ${error.toFixed(4)}`)
        expect(error).toBeLessThan(MAX_ERROR)
        same += ours.filter((row, at) => best(row) === best(theirs[at]!)).length
        all += tokens.length
      }
      console.log(`${same} of ${all} positions prefer the same token`)
      expect(same / all).toBeGreaterThan(MIN_SAME)
    })
  },
)
