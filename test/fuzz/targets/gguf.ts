// Target: GGUF. In: models of every family with numbers, texts and bytes of the header changed. Out: how far
// their files are read: headers, configuration and plan, for some also the first tokens.

import { spmSpec } from '../../../src/core/text/testing/tiny.ts'
import { type GgufValue, ggufBytes } from '../../conformance/testing/writers/gguf-writer.ts'
import type { Random } from '../../helpers/random.ts'
import { type GgufLayout, layoutOf } from '../gguf-layout.ts'
import type { Input } from '../input.ts'
import { bytesOfFile, ggufModels, readModel, typedLlama } from '../models.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import type { Target } from '../target.ts'

/** Share of the inputs with a plan that are loaded and run. */
const LOADED = 1 / 8
/** Share of inputs with damage only in the weights, which headers cannot reveal. */
const DAMAGED = 1 / 500

export async function openTarget(): Promise<Target> {
  const models: GgufLayout[] = []
  for (const { files } of await ggufModels()) models.push(layoutOf(await bytesOfFile(files[0] as File)))
  for (const turn of [0, 14]) models.push(layoutOf(await bytesOfFile(await typedLlama(turn))))
  const small = [await everyType(), await sentencePiece()].map(layoutOf)
  return {
    draw(random) {
      if (random.chance(DAMAGED)) return damaged(random, random.pick(models))
      // Small headers are read many times faster, and contain everything that a header can have.
      const good = random.pick(random.chance(0.9) ? small : models)
      const from = random.chance(0.2) ? spliced(random, good, random.pick(models)) : good
      const bytes = mutateBytes(random, from.bytes, from.fields, from.headBytes)
      return { 'model.gguf': bytes, depth: random.chance(LOADED) ? 'load' : 'plan' }
    },
    run: readModel,
  }
}

/** Changes bytes of the weights. The file keeps its length. */
function damaged(random: Random, { bytes, headBytes }: GgufLayout): Input {
  const head = bytes.subarray(0, headBytes)
  const weights = mutateBytes(random, bytes.subarray(headBytes))
  const whole = new Uint8Array(bytes.length)
  whole.set(weights.subarray(0, bytes.length - headBytes), headBytes)
  whole.set(head)
  return { 'model.gguf': whole, depth: 'load' }
}

/** Inserts an entry from the other file's header before this file's entries. */
function spliced(random: Random, good: GgufLayout, other: GgufLayout): GgufLayout {
  const [from, end] = random.pick(other.entries)
  const at = good.entries[0]?.[0] ?? 24
  const added = end - from
  const bytes = new Uint8Array(good.bytes.length + added)
  bytes.set(good.bytes.subarray(0, at))
  bytes.set(other.bytes.subarray(from, end), at)
  bytes.set(good.bytes.subarray(at), at + added)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(16, view.getBigUint64(16, true) + 1n, true)
  const fields = good.fields.map((field) => (field.at < at ? field : { ...field, at: field.at + added }))
  return { bytes, fields, entries: good.entries, headBytes: good.headBytes + added }
}

/** A metadata value of each type, and tensors of some types. */
function everyType(): Promise<Uint8Array> {
  const metadata: Record<string, GgufValue> = {
    'general.architecture': ['string', 'llama'],
    'general.name': ['string', 'types'],
    u8: ['u8', 1],
    i8: ['i8', -1],
    u16: ['u16', 2],
    i16: ['i16', -2],
    i32: ['i32', -4],
    f32: ['f32', 0.5],
    f64: ['f64', 0.25],
    bool: ['bool', true],
    u64: ['u64', 8],
    i64: ['i64', -8],
    texts: ['string[]', ['a', 'bc', '']],
    numbers: ['f32[]', [1, 2, 3]],
    'llama.block_count': ['u32', 1],
    'llama.embedding_length': ['u32', 32],
    'llama.attention.head_count': ['u32', 2],
    'split.count': ['u16', 1],
    'split.no': ['u16', 0],
    'split.tensors.count': ['i32', 3],
    'general.sampling.temp': ['f32', 0.7],
  }
  const tensor = (name: string, dtype: 'F32' | 'Q4_0' | 'Q6_K', shape: readonly number[], bytes: number) => ({
    name,
    dtype,
    shape,
    data: () => [new Uint8Array(bytes)],
  })
  const tensors = [
    tensor('token_embd.weight', 'F32', [4, 32], 512),
    tensor('blk.0.attn_q.weight', 'Q4_0', [2, 32], 36),
    tensor('output.weight', 'Q6_K', [1, 256], 210),
  ]
  return ggufBytes({ metadata, tensors })
}

/** A tokenizer with scores and a minimal model. */
function sentencePiece(): Promise<Uint8Array> {
  const { tokens, scores = [], types = [] } = spmSpec(['\u2581he', 'llo', '\u2581hello'])
  return ggufBytes({
    metadata: {
      'general.architecture': ['string', 'llama'],
      'tokenizer.ggml.model': ['string', 'llama'],
      'tokenizer.ggml.tokens': ['string[]', tokens.slice(0, 20)],
      'tokenizer.ggml.scores': ['f32[]', scores.slice(0, 20)],
      'tokenizer.ggml.token_type': ['i32[]', types.slice(0, 20)],
      'tokenizer.ggml.add_bos_token': ['bool', true],
      'tokenizer.ggml.bos_token_id': ['u32', 1],
      'tokenizer.chat_template': ['string', '{{ messages[0].content }}'],
    },
    tensors: [],
  })
}
