// Conversations with a model whose images have two-dimensional positions. In: a random language model of
// Qwen2-VL in GGUF, with a random tower. Out: the same texts as Qwen2, and answers that do not depend on how
// the state was built.
import { expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { writePack } from '../../../src/core/formats/hbm/hbm-writer.ts'
import type { Pixels } from '../../../src/core/formats/pixels.ts'
import { packContents } from '../../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import type { LoadOptions, Message } from '../../../src/index.ts'
import { ggufContents, newFile } from '../testing/model-files.ts'
import { openEngine } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'
import { concat, ggufBytes } from '../testing/writers/gguf-writer.ts'
import { randomTower, towerFile } from './random-tower.ts'

const model = randomLlama({ family: 'qwen2', seed: 7, gain: 1.5, speaks: true, contextLength: 512 })
const HALF = model.config.head_dim / 2
const SIZES = { width: model.config.hidden_size, merge: 2, grid: 8, patch: 4 }
const tower = randomTower(3, SIZES)
const windowed = randomTower(4, { ...SIZES, window: 6, pattern: 2, layers: 3 })
const GREEDY = { temperature: 0, maxTokens: 12, speculation: 'off' } as const
const EXACT = { weights: 'f32', kvCache: { k: 'f32', v: 'f32' } } as const
const TEMPLATE = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'

async function languageFile(family: 'qwen2' | 'qwen2vl'): Promise<File> {
  const { metadata, tensors } = ggufContents(model, 'F32')
  const named = Object.entries(metadata).map(([key, value]) => [key.replace(/^qwen2\./, `${family}.`), value])
  return newFile(
    'language.gguf',
    await ggufBytes({
      tensors,
      metadata: {
        ...Object.fromEntries(named),
        'general.architecture': ['string', family],
        'tokenizer.chat_template': ['string', TEMPLATE],
        ...(family === 'qwen2vl' && {
          'qwen2vl.rope.dimension_sections': ['i32[]', [1, HALF - 3, 2, 0]],
        }),
      },
    }),
  )
}

async function loaded(options: LoadOptions = {}, own = tower) {
  const vision = [await towerFile(own)]
  return openEngine([await languageFile('qwen2vl')], { vision, ...EXACT, ...options })
}

function picture(width: number, height: number): Pixels {
  const data = Uint8ClampedArray.from({ length: width * height * 4 }, (_, at) =>
    at % 4 === 3 ? 255 : (at * 7 + (at >> 5) * 13) % 256,
  )
  return { width, height, data }
}

const SAID: Message = { role: 'user', content: 'What is \uFFFC?', images: [picture(70, 30)] }

test('texts, whose height and width equal the position, are answered as by Qwen2', async () => {
  const answerOf = async (family: 'qwen2' | 'qwen2vl') => {
    await using engine = await openEngine([await languageFile(family)], EXACT)
    return (await engine.createSession().send('What is there?', GREEDY).result).tokens
  }
  expect(await answerOf('qwen2vl')).toEqual(await answerOf('qwen2'))
})

test.each([
  ['Qwen2-VL', tower],
  ['Qwen2.5-VL', windowed],
])('a second turn gets the same answer from kept, forked, saved or recomputed state: %s', async (_, own) => {
  await using engine = await loaded({}, own)
  const session = engine.createSession()
  const first = await session.send(SAID, GREEDY).result
  const saved = await session.save()
  const fork = await session.fork()
  const second = await session.send('And now?', GREEDY).result
  expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens)
  expect((await fork.send('And now?', GREEDY).result).tokens).toEqual(second.tokens)
  await using other = await loaded({}, own)
  const restored = await other.restoreSession(saved)
  const again = await restored.send('And now?', GREEDY).result
  expect(again.tokens).toEqual(second.tokens)
  expect(again.usage.cachedTokens).toBe(second.usage.cachedTokens)
  await using fresh = await loaded({}, own)
  const messages = [...restored.messages.slice(0, 2)]
  const anew = fresh.createSession({ messages })
  expect((await anew.send('And now?', GREEDY).result).tokens).toEqual(second.tokens)
})

test('without shared memory the answer is the same', async () => {
  const answerOf = async (options: LoadOptions) => {
    await using engine = await loaded(options)
    return (await engine.createSession().send(SAID, GREEDY).result).tokens
  }
  expect(await answerOf({ pool: 'shards', threads: 2 })).toEqual(await answerOf({ threads: 2 }))
})

test('the positions of rows matter: a rotated image gets another answer', async () => {
  await using engine = await loaded()
  const answerTo = async (width: number, height: number) => {
    const data = new Uint8ClampedArray(width * height * 4).fill(255)
    const images = [{ width, height, data }]
    return (await engine.createSession().send({ ...SAID, images }, { ...GREEDY, logprobs: 3 }).result)
      .logprobs
  }
  expect(await answerTo(64, 16)).not.toEqual(await answerTo(16, 64))
})

test('a context that overflows is recomputed and continues', async () => {
  await using engine = await loaded({ contextLength: 128 })
  const session = engine.createSession({ overflow: 'shift' })
  for (const text of [SAID, 'And?', 'And then, what is there?', 'And?']) {
    const { tokens } = await session.send(text, { ...GREEDY, maxTokens: 30 }).result
    expect(tokens.length).toBeGreaterThan(0)
  }
})

test('a pack of the language model keeps its sections and gives the same answers about images', async () => {
  const language = await languageFile('qwen2vl')
  const policy = { weights: 'f32' } as const
  const prepared = await prepareModel(await openModel([blobSource(language.name, language)]), policy)
  expect(prepared.config.rope.sections).toEqual([1, HALF - 3, 2])
  const chunks: Uint8Array[] = []
  for await (const chunk of writePack(await packContents(prepared))) chunks.push(chunk)
  const answerOf = async (file: File) => {
    await using engine = await openEngine([file], { vision: [await towerFile(tower)], ...EXACT })
    const { tokens, logprobs } = await engine.createSession().send(SAID, { ...GREEDY, logprobs: 3 }).result
    return { tokens, logprobs }
  }
  expect(await answerOf(newFile('language.hbm', concat(chunks)))).toEqual(await answerOf(language))
})

test('an image that is too long or needs more rows than the context has is rejected with both numbers', async () => {
  await using engine = await loaded({ contextLength: 16 })
  const send = (images: readonly Pixels[], maxTokens = 1) =>
    engine.createSession().send({ ...SAID, images }, { ...GREEDY, maxTokens }).result
  await expect(send([picture(1206, 6)])).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/^an image of 1206 x 6 pixels .* 201 times .* 200 times; crop it$/),
    detail: { width: 1206, height: 6 },
  })
  await expect(send([picture(1000, 6)])).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(
      /^an image of 1000 x 6 pixels .* resized to 408 x 8, but the limit is 1024 pixels; crop it$/,
    ),
  })
  await expect(send([picture(32, 32)])).rejects.toMatchObject({
    code: 'context-overflow',
    message: expect.stringMatching(/ \d+ tokens .* 16/),
  })
})
