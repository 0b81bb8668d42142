// Vision models in safetensors folders, compared with transformers. In: random models, a patterned picture.
// Out: whether the picture's rows, the log-probabilities after the prompt and the greedy answer match.
//
// golden/ has the expected numbers, which golden.py writes.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { openFiles } from '../../../src/core/formats/open-files.ts'
import type { Pixels } from '../../../src/core/formats/pixels.ts'
import { openPool, openRuntime } from '../../../src/core/runtime/open-runtime.ts'
import { cutPicture } from '../../../src/core/vision/cut-picture.ts'
import { patternAt } from '../../../src/core/vision/testing/pattern.ts'
import { Engine } from '../../../src/engine/api/engine.ts'
import { memoryNeed } from '../../../src/engine/load/memory-need.ts'
import { ENGINE_TOOLS } from '../../../src/engine/load/open/open-vision.ts'
import { Vision } from '../../../src/engine/load/vision/vision.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import type { LoadOptions } from '../../../src/index.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { serveFiles } from '../../helpers/file-server.ts'
import { hubFolder, jsonFile, newFile } from '../testing/model-files.ts'
import { nodeService, openEngine } from '../testing/node-engine.ts'
import { type StoredTensor, safetensorsBytes } from '../testing/writers/safetensors-writer.ts'
import { type Row, type Tensor, tensorsOf } from '../transformers/weights.ts'

interface Case {
  readonly name: string
  /** config.json and preprocessor_config.json as transformers writes them. */
  readonly config: { readonly text_config: { readonly hidden_size: number } }
  readonly processor: Readonly<Record<string, unknown>>
  readonly tensors: readonly Row[]
  readonly picture: readonly [width: number, height: number]
  /** Another picture, with text between the two. */
  readonly second?: Case['picture']
  /** Base64 of little-endian f32: the pictures' rows, and the log-probabilities after the prompt. */
  readonly rows: string
  readonly logprobs: string
  readonly promptTokens: number
  /** Ids. */
  readonly answer: readonly number[]
}

const folder = new URL('./golden/', import.meta.url)
const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
const CASES = files.flatMap((file) => {
  const { cases }: { cases: readonly Case[] } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
  return cases.map((one) => ({ ...one, kind: file.replace('.json', '') }))
})

const floats = (text: string) => new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)

interface Changes {
  readonly config?: object
  readonly processor?: object | undefined
  /** A tensor's name in the files. */
  readonly rename?: (name: string) => string
}

const storedOf = ({ shape, values }: Tensor): StoredTensor => ({
  ...{ dtype: 'F32', shape, data: new Uint8Array(values.buffer) },
})

function filesOf(one: Case, { config, processor = one.processor, rename = (name) => name }: Changes = {}) {
  const stored: Record<string, StoredTensor> = {}
  for (const tensor of tensorsOf(one.tensors)) stored[rename(tensor.name)] = storedOf(tensor)
  const files = hubFolder({ ...one.config, ...config }, stored)
  const template = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'
  return [
    ...files.filter(({ name }) => name !== 'tokenizer_config.json'),
    jsonFile('tokenizer_config.json', { chat_template: template }),
    jsonFile('preprocessor_config.json', processor),
  ]
}

function picture([width, height]: Case['picture']): Pixels {
  const data = new Uint8ClampedArray(width * height * 4).fill(255)
  for (let at = 0; at < width * height; at++) data.set(patternAt(at % width, Math.floor(at / width)), at * 4)
  return { width, height, data }
}

const picturesOf = ({ picture: first, second }: Case) => (second === undefined ? [first] : [first, second])

const EXACT = { weights: 'f32', kvCache: { k: 'f32', v: 'f32' } } as const

async function rowsOf(one: Case, files: readonly File[]): Promise<Float32Array> {
  const host = nodeHost()
  const file = await openFiles(
    files.map((each) => blobSource(each.name, each)),
    host,
  )
  const hidden = { width: one.config.text_config.hidden_size }
  const vision = new Vision(file.tower!, ENGINE_TOOLS, {
    weights: 'f32',
    modelPlan: { hidden, tokens: 256, stateGroups: [] },
  })
  const runtime = await openRuntime({ host, build: 'auto', threads: 1, ...memoryNeed(...vision.models) })
  await vision.place(runtime.arena, {})
  const pool = await openPool(runtime, { host, threads: 1, probe: () => undefined })
  try {
    const tiles = picturesOf(one).flatMap((each) => cutPicture(vision.rules, picture(each)).tiles)
    return Float32Array.from(tiles.flatMap((tile) => [...vision.encode(pool, vision.patches(tile), tile)]))
  } finally {
    pool.dispose()
  }
}

/** The answer to the prompt of golden.py. */
async function answerTo(one: Case, source: string | readonly File[], options: LoadOptions = {}) {
  const connection = localConnection(nodeService())
  await using engine = await Engine.open(connection, source, { threads: 1, ...EXACT, ...options })
  expect(engine.model.seesImages).toBe(true)
  const content = [
    ...picturesOf(one).flatMap((each, index) => [
      { type: 'text' as const, text: index === 0 ? 'What is ' : ' by ' },
      { type: 'image' as const, data: picture(each) },
    ]),
    { type: 'text' as const, text: ' now?' },
  ]
  const asked = { temperature: 0, maxTokens: one.answer.length, speculation: 'off', logprobs: 5 } as const
  return await engine.createSession().send({ role: 'user', content }, asked).result
}

/** The largest difference, relative to the largest number. */
function difference(found: ArrayLike<number>, right: Float32Array): number {
  expect(found).toHaveLength(right.length)
  const largest = Math.max(...right.map(Math.abs))
  return Math.max(...right.map((value, i) => Math.abs(value - found[i]!))) / largest
}

function expectAnswer({ tokens, usage, logprobs }: Awaited<ReturnType<typeof answerTo>>, one: Case): void {
  expect(usage.promptTokens).toBe(one.promptTokens)
  const right = floats(one.logprobs)
  for (const { id, logprob } of logprobs![0]!.top) expect(Math.abs(logprob - right[id]!)).toBeLessThan(5e-5)
  expect(tokens).toEqual(one.answer)
}

describe.each(CASES)('$kind: $name', (one) => {
  test('gives the expected rows for its pictures', async () => {
    expect(difference(await rowsOf(one, filesOf(one)), floats(one.rows))).toBeLessThan(1e-5)
  })

  test('gives the expected answer', async () => {
    expectAnswer(await answerTo(one, filesOf(one)), one)
  })
})

const named = (kind: string, name?: string): Case =>
  CASES.find((one) => one.kind === kind && (name === undefined || one.name === name))!
const gemma = named('gemma3', 'nine rows')
const llava = named('llava')
const qwen = named('qwen2vl')
const windowed = named('qwen2_5_vl')
const tiled = named('idefics3', 'one tile, squares of three')

describe('gives the same answer', () => {
  test.each<[string, Case, (name: string) => string]>([
    [
      'tensor names that begin with `model`',
      llava,
      (name) =>
        name
          .replace(/^language_model\.lm_head/, 'lm_head')
          .replace(/^language_model\.model/, 'model.language_model')
          .replace(/^(vision_tower|multi_modal)/, 'model.$1'),
    ],
    [
      'a second name before those of the tower',
      llava,
      (name) => name.replace('vision_tower.', 'vision_tower.vision_model.'),
    ],
  ])('of a file with %s', async (_, one, rename) => {
    expect([...tensorsOf(one.tensors)].some(({ name }) => rename(name) !== name)).toBe(true)
    expectAnswer(await answerTo(one, filesOf(one, { rename })), one)
  })

  test('of a folder by its address, and with a processor inside processor_config.json', async () => {
    const files = filesOf(tiled).map((file) =>
      file.name === 'preprocessor_config.json'
        ? jsonFile('processor_config.json', { image_processor: tiled.processor })
        : file,
    )
    const bytes = files.map(async (file) => [`m/${file.name}`, await file.bytes()] as const)
    const server = await serveFiles(Object.fromEntries(await Promise.all(bytes)))
    try {
      expectAnswer(await answerTo(tiled, `${server.address}m/`), tiled)
      const asked = server.requests.map((line) => line.split(' ')[1])
      expect(asked).toContain('/m/preprocessor_config.json')
    } finally {
      await server.close()
    }
  })

  test('with the settings of both models in one object, and the earlier key of its rotation', async () => {
    const { text_config: text, ...whole } = qwen.config
    const { rope_parameters: rope, eos_token_id: _, ...sizes } = text as Record<string, unknown>
    const { mrope_section, rope_theta } = rope as Record<string, unknown>
    const flat = { ...sizes, ...whole, rope_theta, rope_scaling: { type: 'mrope', mrope_section } }
    const { size, ...processor } = qwen.processor as { size: Record<string, number> }
    const pixels = { min_pixels: size['shortest_edge'], max_pixels: size['longest_edge'] }
    const files = filesOf(qwen, { processor: { ...processor, ...pixels } })
    const changed = files.map((file) => (file.name === 'config.json' ? jsonFile(file.name, flat) : file))
    expectAnswer(await answerTo(qwen, changed), qwen)
  })

  test.each([
    ['llava', llava],
    ['Qwen2.5-VL', windowed],
  ] as const)('of a folder with its weights in two files: %s', async (_, one) => {
    const named = [...tensorsOf(one.tensors)]
    const part = (rows: typeof named, name: string) => {
      const stored = rows.map((row) => [row.name, storedOf(row)] as const)
      return newFile(name, safetensorsBytes(Object.fromEntries(stored)))
    }
    // Both files have tensors of the tower and of the language model.
    const halves = [0, 1].map((half) => named.filter((__, index) => index % 2 === half))
    const names = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
    const weight_map = Object.fromEntries(
      halves.flatMap((rows, half) => rows.map(({ name }) => [name, names[half]!])),
    )
    const files = [
      ...filesOf(one).filter(({ name }) => name !== 'model.safetensors'),
      ...halves.map((rows, half) => part(rows, names[half]!)),
      jsonFile('model.safetensors.index.json', { metadata: {}, weight_map }),
    ]
    expectAnswer(await answerTo(one, files), one)
  })

  test('with a tower from another folder', async () => {
    const blind = filesOf(llava).filter(({ name }) => name !== 'preprocessor_config.json')
    expectAnswer(await answerTo(llava, blind, { vision: filesOf(llava) }), llava)
  })
})

describe('rejected, naming the cause', () => {
  const vision = (one: Case) => (one.config as unknown as { vision_config: object }).vision_config
  test.each<[string, Case, Changes, string, RegExp]>([
    [
      'a layer that is not counted from the end',
      llava,
      { config: { vision_feature_layer: 2 } },
      'unsupported',
      /vision_feature_layer 2/,
    ],
    [
      'a layer further from the end than the model has layers',
      llava,
      { config: { vision_feature_layer: -9 } },
      'architecture',
      /layers/,
    ],
    [
      'the row of the class token',
      llava,
      { config: { vision_feature_select_strategy: 'full' } },
      'unsupported',
      /vision_feature_select_strategy full/,
    ],
    [
      'pictures that are not squares',
      llava,
      { processor: { ...llava.processor, do_center_crop: false } },
      'unsupported',
      /do_center_crop/,
    ],
    [
      'squares of a size that the tower does not have',
      llava,
      { processor: { ...llava.processor, crop_size: { height: 24, width: 20 } } },
      'unsupported',
      /width of 20/,
    ],
    [
      'squares that are larger than the picture',
      llava,
      { processor: { ...llava.processor, size: { shortest_edge: 9 } } },
      'architecture',
      /side of 9/,
    ],
    [
      'another filter',
      llava,
      { processor: { ...llava.processor, resample: 0 } },
      'unsupported',
      /resample 0/,
    ],
    [
      'another scale of pixels',
      llava,
      { processor: { ...llava.processor, rescale_factor: 1 } },
      'unsupported',
      /rescale_factor 1/,
    ],
    [
      'a deviation of 0',
      llava,
      { processor: { ...llava.processor, image_std: [1, 0, 1] } },
      'architecture',
      /deviation/,
    ],
    [
      'tiles of another size',
      tiled,
      { processor: { ...tiled.processor, max_image_size: { longest_edge: 20 } } },
      'unsupported',
      /tiles of 20/,
    ],
    [
      'impossible sizes',
      tiled,
      { config: { vision_config: { ...vision(tiled), patch_size: 1e9 } } },
      'architecture',
      /patchSize/,
    ],
    [
      'sizes that are not those of the tensors',
      tiled,
      { config: { vision_config: { ...vision(tiled), hidden_size: 48 } } },
      'architecture',
      /patch_embedding/,
    ],
    [
      'a window that is narrower than a picture',
      gemma,
      { config: { text_config: { ...gemma.config.text_config, sliding_window: 8 } } },
      'unsupported',
      /9 rows for an image/,
    ],
    [
      'a picture in crops',
      gemma,
      { processor: { ...gemma.processor, do_pan_and_scan: true } },
      'unsupported',
      /do_pan_and_scan/,
    ],
    [
      'patches of a size that the processor does not make',
      qwen,
      { processor: { ...qwen.processor, patch_size: 8 } },
      'unsupported',
      /patch_size 8/,
    ],
    [
      'a picture that is not resized',
      qwen,
      { processor: { ...qwen.processor, do_resize: false } },
      'unsupported',
      /do_resize false/,
    ],
    [
      'more than two frames in a patch',
      qwen,
      { config: { vision_config: { ...vision(qwen), temporal_patch_size: 4 } } },
      'unsupported',
      /temporal_patch_size 4/,
    ],
    [
      'sections that do not cover all pairs',
      qwen,
      {
        config: {
          text_config: {
            ...qwen.config.text_config,
            rope_parameters: { rope_theta: 1e4, mrope_section: [1, 1, 1] },
          },
        },
      },
      'architecture',
      /rope\.sections/,
    ],
    [
      'windows that are smaller than a merged square',
      windowed,
      { config: { vision_config: { ...vision(windowed), window_size: 7 } } },
      'architecture',
      /windows of 0 patches/,
    ],
    [
      'another activation of its tower',
      windowed,
      { config: { vision_config: { ...vision(windowed), hidden_act: 'gelu' } } },
      'unsupported',
      /hidden_act gelu/,
    ],
    [
      'another base of the rotation of its tower',
      windowed,
      { config: { vision_config: { ...vision(windowed), rope_parameters: { rope_theta: 500 } } } },
      'unsupported',
      /rope_theta 500/,
    ],
    ['rows that are not square', gemma, { config: { mm_tokens_per_image: 10 } }, 'architecture', /merge/],
    [
      'a missing tensor',
      tiled,
      { rename: (name) => name.replace('connector.modality_projection', 'connector.other') },
      'architecture',
      /width is 0/,
    ],
    [
      'an unused tensor',
      tiled,
      { rename: (name) => name.replace('post_layernorm.bias', 'post_layernorm.other') },
      'architecture',
      /post_layernorm/,
    ],
  ])('%s', async (_, one, changes, code, message) => {
    await expect(openEngine(filesOf(one, changes))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  test.each([
    ['an unsupported class', { architectures: ['AyaVisionForConditionalGeneration'] }, /of AyaVision/],
    [
      "Pixtral's tower in LLaVA's class",
      { vision_config: { ...vision(llava), model_type: 'pixtral' } },
      /of pixtral/,
    ],
  ])(
    '%s: the model loads for text with a note, unless the tower was requested',
    async (_, config, message) => {
      const files = filesOf(llava, { config })
      await using engine = await openEngine(files)
      expect(engine.model.seesImages).toBe(false)
      expect(engine.note).toMatch(message)
      expect(await engine.complete('a', { maxTokens: 1 }).text()).toBeTypeOf('string')
      await expect(openEngine(files, { vision: files })).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringMatching(message),
      })
    },
  )

  test('a folder without the settings for pictures', async () => {
    const files = filesOf(llava).filter(({ name }) => name !== 'preprocessor_config.json')
    await expect(openEngine(files)).rejects.toMatchObject({
      code: 'format',
      message: expect.stringContaining('preprocessor_config.json'),
    })
  })

  test('a folder without a tower, given as the tower', async () => {
    const text = { ...llava.config.text_config, architectures: ['LlamaForCausalLM'] }
    const config = { ...text, text_config: undefined, vision_config: undefined }
    await expect(openEngine(filesOf(llava), { vision: filesOf(llava, { config }) })).rejects.toMatchObject({
      code: 'architecture',
      message: expect.stringContaining('is not a vision tower; give the mmproj file'),
    })
  })
})
