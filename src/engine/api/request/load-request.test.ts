// Errors in a first attempt. In: a process without workers, and typical mistakes in arguments. Out: the
// message for each.
import { expect, test } from 'vitest'
import { createHalfbyte } from '../../../adapters/ai-sdk.ts'
import { openai } from '../../../adapters/openai.ts'
import { promptApi } from '../../../adapters/prompt-api.ts'
import { Engine } from '../../../index.ts'
import { openToy } from '../testing/toy-engine.ts'
import { mostThreads } from './load-options.ts'

const NO_WORKERS =
  'no workers can be started here; load the engine in a page or in a dedicated worker, and in Node import the package unbundled'

/** Code and message of the error of `act`. */
async function sentenceOf(act: () => unknown): Promise<string> {
  try {
    await act()
  } catch (error) {
    const { name, code, message } = error as { name: string; code?: string; message: string }
    return name === 'HalfbyteError' ? `${code}: ${message}` : `untyped ${name}: ${message}`
  }
  return 'nothing'
}

test('a process without workers gets an error that names an alternative', async () => {
  expect(await Engine.support()).toMatchObject({ supported: false, reason: NO_WORKERS })
  expect(await sentenceOf(() => Engine.load('model.gguf'))).toBe(`unsupported: ${NO_WORKERS}`)
  expect(await sentenceOf(() => Engine.probe('model.gguf'))).toBe(`unsupported: ${NO_WORKERS}`)
})

const MODEL = 'must be an address, a File, Files, bytes or { repo }; pass one of these'

test.each([
  [undefined, `unsupported: the model is undefined but ${MODEL}`],
  [null, `unsupported: the model is null but ${MODEL}`],
  [7, `unsupported: the model is 7 but ${MODEL}`],
  [[], `unsupported: the model is [] but ${MODEL}`],
  [{}, `unsupported: the model is {} but ${MODEL}`],
  [['a.gguf'], `unsupported: the model is ["a.gguf"] but ${MODEL}`],
])('a load of %o explains what a model is', async (source, sentence) => {
  expect(await sentenceOf(() => Engine.load(source as never))).toBe(sentence)
})

const LEAVE = 'change it or leave it out'

test.each([
  [{ tread: 2 }, 'tread is not one of the options; the nearest is threads'],
  [{ onprogress() {} }, 'onprogress is not one of the options; the nearest is onProgress'],
  [{ context: 2048 }, 'context is not one of the options; the nearest is contextLength'],
  [{ limitBytes: 1 }, 'limitBytes is not one of the options; the nearest is imageTiles'],
  [{ assets: { workers: '/w.js' } }, 'workers is not one of assets; the nearest is worker'],
  [{ assets: '/files/' }, `assets is "/files/" but must be an object; ${LEAVE}`],
  [{ kvCache: { key: 'int8' } }, 'key is not one of kvCache; the nearest is k'],
  [{ kvCache: { v: 'int4' } }, `kvCache.v is "int4" but must be f32 or int8 or fp8; ${LEAVE}`],
  [{ hub: { url: 'x' } }, 'url is not one of hub; the nearest is baseUrl'],
  [{ architecture: 7 }, `architecture is 7 but must be a text; ${LEAVE}`],
  [{ lora: 'a' }, `lora is "a" but must be a list; ${LEAVE}`],
  [{ lora: [{ sorce: 'a' }] }, 'sorce is not one of an entry of lora; the nearest is source'],
  [{ threads: 0 }, `threads is 0 but must be a whole number from 1 to ${mostThreads()}; ${LEAVE}`],
  [{ threads: 'all' }, `threads is "all" but must be a whole number from 1 to ${mostThreads()}; ${LEAVE}`],
  [{ pool: 'shard' }, `pool is "shard" but must be auto or shared or shards or single; ${LEAVE}`],
  [{ weights: 'int4' }, `weights is "int4" but must be auto or f32 or w8 or w4 or w4_channel; ${LEAVE}`],
  [{ cache: true }, `cache is true but must be opfs or files or none; ${LEAVE}`],
  [{ build: 'simd' }, `build is "simd" but must be auto or relaxed or simd128; ${LEAVE}`],
  [{ signal: true }, `signal is true but must be an AbortSignal; ${LEAVE}`],
  [{ onProgress: 1 }, `onProgress is 1 but must be a function; ${LEAVE}`],
  [null, `the options is null but must be an object; ${LEAVE}`],
])('a load with the options %o says what is wrong', async (options, sentence) => {
  expect(await sentenceOf(() => Engine.load('a.gguf', options as never))).toBe(`unsupported: ${sentence}`)
})

test.each([
  [{ limitbytes: 1 }, 'limitbytes is not one of the options; the nearest is limitBytes'],
  [{ limitBytes: 0.5 }, `limitBytes is 0.5 but must be a whole number from 1; ${LEAVE}`],
  [{ onProgress() {} }, 'onProgress is not one of the options; the nearest is store'],
])('a probe with the options %o says what is wrong', async (options, sentence) => {
  expect(await sentenceOf(() => Engine.probe('a.gguf', options as never))).toBe(`unsupported: ${sentence}`)
})

test('a session and a message are checked when they are created', async () => {
  const engine = await openToy()
  const create = (options: unknown) => sentenceOf(() => engine.createSession(options as never))
  expect(await create({ sytem: 'x' })).toBe(
    'unsupported: sytem is not one of the options; the nearest is system',
  )
  expect(await create({ messages: [undefined] })).toBe(
    `unsupported: a message is undefined but must be an object with role and content; ${LEAVE}`,
  )
  expect(await sentenceOf(() => engine.createSession().send(undefined as never).result)).toBe(
    `unsupported: a message is undefined but must be an object with role and content; ${LEAVE}`,
  )
  expect(await sentenceOf(() => engine.complete('a', { temperatur: 1 } as never).result)).toBe(
    'unsupported: temperatur is not one of the options; the nearest is temperature',
  )
  await engine.dispose()
})

test('adapters without an engine say what to pass', async () => {
  const engine = 'unsupported: the engine is undefined; await Engine.load and pass its result'
  expect(await sentenceOf(() => openai(undefined as never))).toBe(engine)
  expect(await sentenceOf(() => createHalfbyte(undefined as never))).toBe(engine)
  expect(await sentenceOf(() => createHalfbyte({} as never))).toBe(engine)
  // The caller forgot to await.
  expect(await sentenceOf(() => openai(Promise.resolve() as never))).toBe(engine.replace('undefined', '{}'))
  expect(await sentenceOf(() => promptApi(undefined as never))).toBe(
    `unsupported: load is undefined but must be a function that loads an engine; ${LEAVE}`,
  )
  const client = openai(await openToy())
  for (const [params, given] of [
    [undefined, 'undefined'],
    [{}, 'undefined'],
    [{ messages: [undefined] }, '[null]'],
  ]) {
    expect(await sentenceOf(() => client.chat.completions.create(params as never))).toBe(
      `unsupported: messages is ${given} but must be a list of messages, the conversation so far; ${LEAVE}`,
    )
  }
})
