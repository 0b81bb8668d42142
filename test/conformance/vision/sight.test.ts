// Our own small vision model. In: the files of lab/train/sight, and questions about PNG files with shapes at
// positions that training never used. Out: how many answers are right.
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { openEngine } from '../testing/node-engine.ts'

const ROOT = new URL('../../../', import.meta.url)
const MODEL = 'lab/train/models/halfbyte-sight'
const read = (path: string) => readFileSync(new URL(path, ROOT))
const fileOf = (path: string) =>
  new File([Uint8Array.from(read(path))], path.slice(path.lastIndexOf('/') + 1))

interface Held {
  readonly kind: string
  readonly question: string
  readonly answer: string
  readonly png: string
}
const HELD = read('test/conformance/vision/golden/sight.jsonl')
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Held)
const pictureOf = ({ png }: Held) => Uint8Array.from(Buffer.from(png, 'base64'))

const names = readdirSync(new URL(MODEL, ROOT))
const engine = await openEngine(
  names.map((name) => fileOf(`${MODEL}/${name}`)),
  { vision: [fileOf('lab/train/models/mmproj-halfbyte-sight.gguf')] },
)
afterAll(() => engine.dispose())

const ask = (pictures: readonly Uint8Array[], text: string) => {
  const images = pictures.map((data) => ({ type: 'image', data }) as const)
  const content = [...images, { type: 'text', text } as const]
  return engine.createSession().send({ role: 'user', content }, { temperature: 0, maxTokens: 12 }).result
}

test('at least 95 of 100 questions about held-out pictures are answered correctly', async () => {
  const right = new Map<string, number[]>()
  for (const held of HELD) {
    const { text } = await ask([pictureOf(held)], held.question)
    right.set(held.kind, [...(right.get(held.kind) ?? []), Number(text.trim() === held.answer)])
  }
  const mean = (list: readonly number[]) => list.reduce((sum, each) => sum + each, 0) / list.length
  const shares = Object.fromEntries([...right].map(([kind, list]) => [kind, mean(list)]))
  expect([HELD.length, right.size]).toEqual([80, 8])
  expect(mean([...right.values()].flat()), JSON.stringify(shares)).toBeGreaterThanOrEqual(0.95)
  for (const [kind, share] of Object.entries(shares)) expect(share, kind).toBeGreaterThanOrEqual(0.9)
})

test('its answers depend on the picture', async () => {
  const asked = HELD.filter(({ kind }) => kind === 'colour')
  let changed = 0
  for (const [at, held] of asked.entries()) {
    const other = asked.find(({ answer }, next) => next > at && answer !== held.answer) ?? asked[0]!
    const { text } = await ask([pictureOf(other)], held.question)
    changed += Number(text.trim() !== held.answer)
  }
  expect(changed).toBeGreaterThan(asked.length / 3)
})

test('each picture takes nine tokens', async () => {
  const [held] = HELD
  const counts = [0, 1, 2].map((count) =>
    ask(Array(count).fill(pictureOf(held!)), held!.question).then(({ usage }) => usage.promptTokens),
  )
  const tokens = await Promise.all(counts)
  expect(tokens.map((count) => count - tokens[0]!)).toEqual([0, 9, 18])
})
