// Conversations with images. In: a random model with a random tower. Out: the definition's tokens, each image
// read only once, saved sessions, errors.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encode } from 'fast-png'
import { expect, test } from 'vitest'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { givenPlace, type Place } from '../../../src/core/formats/names/named-files.ts'
import type { Pixels } from '../../../src/core/formats/pixels.ts'
import { EXACT_KV } from '../../../src/core/graph/ir.ts'
import { cutPicture, patchesOf } from '../../../src/core/vision/cut-picture.ts'
import type { Tower } from '../../../src/core/vision/tower.ts'
import { Engine } from '../../../src/engine/api/engine.ts'
import { loadModel } from '../../../src/engine/load/load-model.ts'
import { probeModel } from '../../../src/engine/probe/probe.ts'
import { createService } from '../../../src/engine/service.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import type { LoadOptions, Message } from '../../../src/index.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { blobFiles } from '../../../src/tools/cli/node-engine.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { ggufFile, jsonFile, safetensorsFiles } from '../testing/model-files.ts'
import { openEngine } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'
import { referenceLogits } from '../testing/reference-model.ts'
import { type RandomTower, randomTower, towerFile, towerRowsOf } from './random-tower.ts'

const model = randomLlama({ seed: 38, gain: 1.5, speaks: true, contextLength: 1024 })
const HIDDEN = model.config.hidden_size
const GREEDY = { temperature: 0, maxTokens: 8, speculation: 'off' } as const
const STRINGS = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'
const PARTS =
  "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}" +
  '{% else %}<image>{% endif %}{% endfor %}{% endfor %}'

const sizes = { width: HIDDEN, merge: 2, grid: 4, patch: 3 }
const tiled = randomTower(4, { ...sizes, projector: 'idefics3' })
const plain = randomTower(1, { ...sizes, projector: 'mlp', merge: 1 })

function picture(width: number, height: number, salt = 0): Pixels {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let at = 0; at < data.length; at++)
    data[at] = at % 4 === 3 ? 255 : (at * (7 + salt) + (at >> 5) * 13) % 256
  return { width, height, data }
}

/** Number of tiles along the longest side. */
const TILES = 2

const fileOf = (tower: RandomTower, tiles = TILES) => {
  const longest = tiles * tower.shape.grid * tower.shape.patch
  return towerFile(tower, { change: { 'clip.vision.preproc_image_size': ['u32', longest] } })
}

const loadedFile = (template: string) =>
  ggufFile(model, 'F32', { metadata: { 'tokenizer.chat_template': ['string', template] } })

async function loaded(tower: RandomTower | undefined, template = STRINGS, options: LoadOptions = {}) {
  return openEngine([await loadedFile(template)], {
    ...(tower && { vision: [await fileOf(tower)] }),
    ...options,
  })
}

/** The fields of the tower that cropping reads. */
const facts = ({ shape: { projector, grid, patch } }: RandomTower, tiles = TILES) =>
  ({
    ...{ projector, imageSize: grid * patch, patchSize: patch, longestEdge: tiles * grid * patch },
    ...{ mean: [0.5, 0.4, 0.3].map(Math.fround), deviation: [0.5, 0.25, 0.125] },
    ...(projector === 'idefics3'
      ? { cut: 'tiles', filter: 'lanczos' }
      : { cut: 'padded', filter: 'bicubic' }),
  }) as unknown as Tower

/** An image's ids by definition: its rows have ids beyond the vocabulary. */
function definition(
  tower: RandomTower,
  { tiles, pixels }: { readonly tiles: number; readonly pixels: Pixels },
  idsOf: (text: string) => readonly number[],
) {
  const cut = cutPicture(facts(tower, tiles), pixels)
  const { length: size } = { length: 3 * tower.shape.patch ** 2 }
  const rows = cut.tiles.map((tile) => {
    const all = patchesOf(facts(tower), tile)
    return towerRowsOf(
      tower,
      Array.from({ length: all.length / size }, (_, index) => all.slice(index * size, (index + 1) * size)),
    )
  })
  const each = rows[0]!.length
  const ids = cut.parts.flatMap((part) =>
    typeof part === 'string'
      ? [...idsOf(part)]
      : Array.from({ length: each }, (_, row) => model.config.vocab_size + part * each + row),
  )
  return { ids, rows: rows.flat() }
}

/** The model with an image's rows appended to its table. */
function withRows(rows: readonly Float64Array[]) {
  const table = model.weights.get('model.embed_tokens.weight')!
  const values = new Float32Array(table.values.length + rows.length * HIDDEN)
  values.set(table.values)
  for (const [row, numbers] of rows.entries()) values.set(numbers, table.values.length + row * HIDDEN)
  const weights = new Map(model.weights).set('model.embed_tokens.weight', { ...table, values })
  return { ...model, weights }
}

test.each([
  ['tiles and a template of texts', tiled, STRINGS, 2, picture(40, 21)],
  ['one tile and a template of parts', tiled, PARTS, 1, picture(9, 9)],
  ['a tower with a class', plain, STRINGS, 1, picture(17, 30)],
] as const)('gives the tokens of the definition: %s', async (_, tower, template, tiles, pixels) => {
  await using engine = await loaded(tower, template, { vision: [await fileOf(tower, tiles)] })
  const before = '<user>What is '
  const after = ' here?'
  const text = (ids: string) => engine.tokenize(ids)
  const start = await text(before)
  const end = await text(after)
  const parts = new Map<string, readonly number[]>()
  for (const part of cutPicture(facts(tower, tiles), pixels).parts)
    if (typeof part === 'string') parts.set(part, await text(part))
  const seen = definition(tower, { tiles, pixels }, (part) => parts.get(part)!)
  let ids = [...start, ...seen.ids, ...end]
  const reference = withRows(seen.rows)
  const expected: number[] = []
  for (let step = 0; step < GREEDY.maxTokens; step++) {
    const logits = referenceLogits(reference, ids).at(-1)!
    const next = logits.indexOf(Math.max(...logits))
    expected.push(next)
    ids = [...ids, next]
  }
  const content = [
    { type: 'text' as const, text: 'What is ' },
    { type: 'image' as const, data: pixels },
    { type: 'text' as const, text: ' here?' },
  ]
  const reply = await engine.createSession().send({ role: 'user', content }, GREEDY).result
  expect(reply.usage.promptTokens).toBe(start.length + seen.ids.length + end.length)
  expect(reply.tokens).toEqual(expected)
})

test('an image is read once, because later turns, forks and other sessions share its state', async () => {
  await using engine = await loaded(tiled)
  expect(engine.model.seesImages).toBe(true)
  const session = engine.createSession()
  const said: Message = { role: 'user', content: 'What is \uFFFC?', images: [picture(40, 21)] }
  const first = await session.send(said, GREEDY).result
  const second = await session.send('And now?', GREEDY).result
  expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens)
  const other = await engine.createSession().send(said, GREEDY).result
  expect(other.text).toBe(first.text)
  expect(other.usage.cachedTokens).toBe(first.usage.promptTokens - 1)
  const fork = await session.fork()
  expect((await fork.send('x', GREEDY).result).usage.cachedTokens).toBeGreaterThan(first.usage.promptTokens)
  const changed = { ...said, images: [picture(40, 21, 1)] }
  const different = await engine.createSession().send(changed, GREEDY).result
  expect(different.usage.cachedTokens).toBeLessThan(first.usage.promptTokens / 2)
  expect(await engine.countTokens([said])).toBe(first.usage.promptTokens)
})

test('an edited message keeps its images', async () => {
  await using engine = await loaded(plain)
  const images = [picture(12, 12)]
  const [session, other] = [engine.createSession(), engine.createSession()]
  await session.send({ role: 'user', content: 'what', images }, GREEDY).result
  const edited = await session.edit(0, 'and now', GREEDY).result
  const expected = await other.send({ role: 'user', content: 'and now', images }, GREEDY).result
  expect(edited.tokens).toEqual(expected.tokens)
  expect(edited.usage.promptTokens).toBe(expected.usage.promptTokens)
  expect(session.messages[0]).toEqual({ role: 'user', content: 'and now', images })
})

test('of picked files, the mmproj file is the tower', async () => {
  const model = await loadedFile(STRINGS)
  await using engine = await openEngine([await fileOf(tiled), model])
  expect(engine.model.seesImages).toBe(true)
  await expect(openEngine([await fileOf(tiled)])).rejects.toMatchObject({ code: 'architecture' })
})

test('of a folder of safetensors, the mmproj file is the tower, however the folder is given', async () => {
  const tower = await fileOf(tiled)
  const folder = [
    ...safetensorsFiles(model).filter(({ name }) => name !== 'tokenizer_config.json'),
    jsonFile('tokenizer_config.json', { chat_template: STRINGS }),
  ]
  const answerOf = async (source: string | readonly File[], options: LoadOptions = {}) => {
    const service = createService((request, hooks) =>
      loadModel(request, hooks, nodeHost(), async ({ source: place }) =>
        typeof place === 'string' ? openModelFiles(place) : blobFiles(place),
      ),
    )
    await using engine = await Engine.open(localConnection(service), source, {
      threads: 1,
      weights: 'f32',
      ...options,
    })
    expect(engine.model.seesImages).toBe(true)
    const said = { role: 'user' as const, content: 'What is \uFFFC?', images: [picture(40, 21)] }
    return (await engine.createSession().send(said, GREEDY).result).tokens
  }
  const right = await answerOf(folder, { vision: [tower] })
  expect(await answerOf([tower, ...folder])).toEqual(right)
  const path = await mkdtemp(join(tmpdir(), 'halfbyte-seeing-'))
  try {
    for (const file of [tower, ...folder]) await writeFile(join(path, file.name), await file.bytes())
    expect(await answerOf(path)).toEqual(right)
  } finally {
    await rm(path, { recursive: true })
  }
})

test('the choice between two mmproj files is required', async () => {
  const tower = await fileOf(tiled)
  const second = new File([tower], 'mmproj-second.gguf')
  await expect(openEngine([await loadedFile(STRINGS), tower, second])).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/2 vision towers.*mmproj-random\.gguf, mmproj-second\.gguf$/),
  })
})

test('a probe counts the download and the memory of the tower', async () => {
  const files = { model: await loadedFile(STRINGS), tower: await fileOf(tiled) }
  const probe = (vision?: Place) =>
    probeModel(
      {
        ...{
          source: givenPlace('model'),
          vision,
          threads: 1,
          build: 'auto',
          weights: 'auto',
          kvCache: EXACT_KV,
        },
        ...{ cache: 'none', assets: {} },
      },
      { signal: new AbortController().signal },
      nodeHost(),
      async ({ source }) => {
        const file = files[source as keyof typeof files]
        const sources = [blobSource(`${source}.gguf`, file)]
        return { sources, downloadBytes: file.size, close: async () => undefined }
      },
    )
  const blind = await probe()
  const seeing = await probe(givenPlace('tower'))
  expect(seeing.downloadBytes).toBe(files.model.size + files.tower.size)
  expect(seeing.neededBytes).toBeGreaterThan(blind.neededBytes + files.tower.size / 2)
})

test('fewer tiles take fewer tokens', async () => {
  const tokensWith = async (imageTiles?: number) => {
    await using engine = await loaded(tiled, STRINGS, { imageTiles })
    return await engine.countTokens([{ role: 'user', content: '', images: [picture(40, 21)] }])
  }
  const one = await tokensWith(1)
  const own = await tokensWith()
  const more = await tokensWith(9)
  expect(one).toBeLessThan(own / 2)
  expect(more).toBe(own)
})

test('a saved session keeps its images and their state', async () => {
  const said: Message = { role: 'user', content: 'Look: ', images: [picture(40, 21), picture(9, 12)] }
  const answerTo = async (engine: Awaited<ReturnType<typeof loaded>>, file?: Blob) => {
    const session = file === undefined ? engine.createSession() : await engine.restoreSession(file)
    if (file === undefined) await session.send(said, GREEDY).result
    const saved = await session.save()
    return { saved, result: await session.send('And?', GREEDY).result, messages: session.messages }
  }
  await using engine = await loaded(tiled)
  const { saved, result } = await answerTo(engine)
  await using other = await loaded(tiled)
  const again = await answerTo(other, saved)
  expect(again.result.text).toBe(result.text)
  expect(again.result.usage.cachedTokens).toBe(result.usage.cachedTokens)
  expect(again.messages[0]).toEqual(said)
  await using blind = await loaded(undefined)
  await expect(blind.restoreSession(saved)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('vision'),
  })
})

test('images that cannot be read are rejected, and the error names the cause', async () => {
  const send = async (engine: Awaited<ReturnType<typeof loaded>>, data: unknown) =>
    engine.createSession().send({ role: 'user', content: [{ type: 'image', data } as never] }, GREEDY).result
  await using blind = await loaded(undefined)
  expect(blind.model.seesImages).toBe(false)
  await expect(send(blind, picture(3, 3))).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/without a vision tower.*vision/),
  })
  await using engine = await loaded(tiled)
  for (const [data, message] of [
    [{ ...picture(3, 3), width: 4 }, /4 x 3 pixels in 36 bytes/],
    [{ ...picture(3, 3), width: 0, height: 0 }, /0 x 0/],
    ['https://example.com/a.png', /images as Blobs/],
  ] as const)
    await expect(send(engine, data)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(message),
    })
  await expect(send(engine, new Blob(['no picture']))).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/only PNG and JPEG are supported/),
  })
  const other = await towerFile(randomTower(4, { ...sizes, projector: 'idefics3', width: HIDDEN + 1 }))
  await expect(loaded(tiled, STRINGS, { vision: [other] })).rejects.toMatchObject({ code: 'architecture' })
})

test('a PNG file outside a browser gives the same answer as its pixels, and a damaged one is rejected', async () => {
  const engine = await loaded(plain)
  const seen = picture(40, 30, 2)
  const answer = (image: Pixels | Uint8Array | Blob) =>
    engine.createSession().send({ role: 'user', content: 'ab', images: [image] }, GREEDY).result
  const { tokens } = await answer(seen)
  const file = encode({ ...seen, channels: 4 })
  expect((await answer(file)).tokens).toEqual(tokens)
  expect((await answer(new Blob([file as BlobPart], { type: 'image/png' }))).tokens).toEqual(tokens)
  await expect(answer(file.slice(0, 60))).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/^an image of 60 bytes cannot be decoded: .*[^:]; give a PNG or JPEG$/),
  })
  await engine.dispose()
})
