// A tower that was trained to see. In: the mmproj file of train/sight, PNG files of shapes in places where
// none stood in training. Out: the rows that mean what is in each cell, and a conversation of the model that
// they are for.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { blobSource } from '../../../src/base/bytes.ts'
import { nodeHost } from '../../../src/cli/node-host.ts'
import { memoryNeed } from '../../../src/engine/load/memory-need.ts'
import { ENGINE_TOOLS } from '../../../src/engine/load/open/open-vision.ts'
import { decodePicture } from '../../../src/engine/load/vision/decode-picture.ts'
import { Vision } from '../../../src/engine/load/vision/vision.ts'
import { openFiles } from '../../../src/formats/open-files.ts'
import { openPool, openRuntime } from '../../../src/runtime/open-runtime.ts'
import { openEngine } from '../testing/node-engine.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url))
const fileOf = (path: string) =>
  new File([Uint8Array.from(read(path))], path.slice(path.lastIndexOf('/') + 1))
const TOWER = 'train/models/halfbyte-sight/mmproj.gguf'
const STORIES = 'train/models/halfbyte-stories'
const WIDTH = 288
const COLOURS = ['red', 'blue', 'green', 'yellow', 'nothing']
const SHAPES = ['circle', 'square', 'triangle', 'star', 'nothing']

interface Held {
  readonly cells: readonly (string | null)[]
  readonly png: string
}
const HELD = read('test/conformance/vision/golden/sight.jsonl')
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Held)
const pictureOf = ({ png }: Held) => Uint8Array.from(Buffer.from(png, 'base64'))

/** Rows of the model's embedding, BF16 in its file, of words as they stand inside a sentence. */
function embeddings(words: readonly string[]): Float32Array[] {
  const { vocab } = JSON.parse(read(`${STORIES}/tokenizer.json`).toString()).model
  const bytes = read(`${STORIES}/model.safetensors`)
  const start = 8 + Number(bytes.readBigUInt64LE())
  const head = JSON.parse(bytes.subarray(8, start).toString())
  const { dtype, shape, data_offsets } = head['model.embed_tokens.weight']
  expect([dtype, shape[1]]).toEqual(['BF16', WIDTH])
  return words.map((word) => {
    const at = start + data_offsets[0] + 2 * WIDTH * vocab[`\u2581${word}`]
    const halves = Uint32Array.from({ length: WIDTH }, (_, i) => bytes.readUInt16LE(at + 2 * i) << 16)
    return new Float32Array(halves.buffer)
  })
}

/** The word whose embedding points most nearly as the row does. */
function nearest(row: Float32Array, words: readonly string[], rows: readonly Float32Array[]): string {
  const cosines = rows.map((each) => each.reduce((sum, x, i) => sum + x * row[i]!, 0) / Math.hypot(...each))
  return words[cosines.indexOf(Math.max(...cosines))]!
}

test('at least 95 of 100 cells of held-out pictures are seen as what is in them', async () => {
  const host = nodeHost()
  const vision = new Vision(await openFiles([blobSource('mmproj.gguf', fileOf(TOWER))], host), ENGINE_TOOLS, {
    weights: 'auto',
    modelPlan: { hidden: { width: WIDTH }, tokens: 256, stateGroups: [] },
  })
  const runtime = await openRuntime({ host, build: 'relaxed', threads: 1, ...memoryNeed(...vision.models) })
  await vision.place(runtime.arena, {})
  const pool = await openPool(runtime, { host, threads: 1, probe: () => undefined })
  const [colours, shapes] = [embeddings(COLOURS), embeddings(SHAPES)]
  let right = 0
  let things = 0
  let thingsRight = 0
  try {
    for (const held of HELD) {
      const [tile] = vision.cut(decodePicture(pictureOf(held))).tiles
      const rows = vision.encode(pool, vision.patches(tile!))
      expect(rows.length).toBe(held.cells.length * WIDTH)
      for (const [cell, thing] of held.cells.entries()) {
        const row = rows.subarray(cell * WIDTH, (cell + 1) * WIDTH)
        const seen = `${nearest(row, COLOURS, colours)} ${nearest(row, SHAPES, shapes)}`
        const isRight = seen === (thing ?? 'nothing nothing')
        right += Number(isRight)
        if (thing === null) continue
        things++
        thingsRight += Number(isRight)
      }
    }
  } finally {
    pool.dispose()
  }
  expect(HELD.length).toBe(64)
  expect(things).toBeGreaterThan(200)
  expect(right / (9 * HELD.length)).toBeGreaterThanOrEqual(0.95)
  expect(thingsRight / things).toBeGreaterThanOrEqual(0.95)
})

test("the page's model loads with the tower and reads a picture as nine tokens", async () => {
  const model = fileOf('demo/models/halfbyte-stories.hbm')
  await using engine = await openEngine([model], { vision: [fileOf(TOWER)] })
  const ask = (content: object[]) =>
    engine.createSession().send({ role: 'user', content: content as never }, { temperature: 0, maxTokens: 4 })
      .result
  const picture = { type: 'image', data: pictureOf(HELD[0]!) }
  const one = await ask([picture, { type: 'text', text: ' What is red?' }])
  const two = await ask([picture, picture, { type: 'text', text: ' What is red?' }])
  expect(engine.model.seesImages).toBe(true)
  expect(two.usage.promptTokens - one.usage.promptTokens).toBe(9)
})
