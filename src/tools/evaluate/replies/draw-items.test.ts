// Sampled items. In: lines in pieces, seeds and limits. Out: the same items as from the whole list, of which
// few are in memory at a time, and errors with line numbers.
import { expect, test } from 'vitest'
import { Random } from '../../../core/generate/sampler/random.ts'
import { bfcl } from './bfcl.ts'
import { type DrawOptions, drawItems } from './draw-items.ts'
import { gsm8k } from './gsm8k.ts'

/** A file in pieces of 7 characters. `readings` counts how often the file is read. */
function file(text: string) {
  const read = { readings: 0 }
  const stream = {
    name: 'data.jsonl',
    *pieces() {
      read.readings++
      for (let at = 0; at < text.length; at += 7) yield text.slice(at, at + 7)
    },
  }
  return { stream, read }
}
const numbers = (count: number) =>
  Array.from({ length: count }, (_, at) => `${JSON.stringify({ at })}\n${at % 3 === 0 ? '\n' : ''}`).join('')
const draw = (text: string, options: DrawOptions) =>
  drawItems(file(text).stream, ({ value }) => value['at'] as number, options)

/** The expected result, from a list of all items. */
function wholeOrder(count: number, seed: number | undefined): number[] {
  const list = Array.from({ length: count }, (_, at) => at)
  if (seed === undefined) return list
  const random = new Random(seed)
  for (let last = count - 1; last > 0; last--) {
    const at = Math.floor(random.next() * (last + 1))
    ;[list[last], list[at]] = [list[at]!, list[last]!]
  }
  return list
}

test('a seed, a limit and reserved lines give the start of the full order', async () => {
  for (const count of [0, 1, 2, 17]) {
    for (const seed of [undefined, 1, 7]) {
      for (const limit of [undefined, 0, 1, 5, 16, 40]) {
        for (const spared of [0, 1, 5, 17, 20]) {
          const items = Math.max(0, count - spared)
          expect(await draw(numbers(count), { seed, limit, spared })).toEqual({
            items: wholeOrder(items, seed).slice(0, limit),
            count: items,
            last: wholeOrder(count, undefined).slice(items),
          })
        }
      }
    }
  }
})

test('unused items are not kept in memory', async () => {
  const of = (options: DrawOptions) => draw(numbers(1000), { ...options, maxCharacters: 300 })
  expect((await of({ limit: 10 })).items).toHaveLength(10)
  expect((await of({ limit: 10, seed: 3, spared: 10 })).items).toHaveLength(10)
  const refusal = { code: 'format', detail: { file: 'data.jsonl', most: 300 } }
  for (const options of [{}, { seed: 3 }, { limit: 40 }, { limit: 1, spared: 40 }]) {
    await expect(of(options)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringMatching(/^data\.jsonl: the items up to line \d+ have more than 300 characters/),
    })
  }
})

test('only a seed with a limit reads the file twice', async () => {
  for (const [options, readings] of [
    [{}, 1],
    [{ seed: 1 }, 1],
    [{ limit: 2 }, 1],
    [{ seed: 1, limit: 2 }, 2],
  ] as const) {
    const { stream, read } = file(numbers(9))
    await drawItems(stream, (line) => line, options)
    expect(read.readings, JSON.stringify(options)).toBe(readings)
  }
})

test('a file that changes between two readings is rejected', async () => {
  let readings = 0
  const stream = { name: 'd', pieces: () => numbers(9 - readings++) }
  await expect(drawItems(stream, (line) => line, { seed: 1, limit: 2 })).rejects.toMatchObject({
    code: 'integrity',
    detail: { before: 9, now: 8 },
  })
})

test('an invalid line after the used ones is rejected with its number', async () => {
  const good = JSON.stringify({ question: 'q', answer: '#### 1' })
  for (const options of [{ limit: 1 }, { limit: 1, seed: 1 }]) {
    for (const [wrong, message] of [
      ['[]', /^data\.jsonl: line 4 is not a JSON object/],
      ['{"question":"q"}', /^data\.jsonl: line 4 has no text under "answer"/],
    ] as const) {
      const { stream } = file(`${good}\n\n${good}\n${wrong}\n`)
      await expect(gsm8k(stream, undefined, options)).rejects.toMatchObject({
        code: 'format',
        message: expect.stringMatching(message),
        detail: { line: 4 },
      })
    }
  }
})

test('a line that is too long is rejected before all of it is read', async () => {
  let pieces = 0
  const stream = {
    name: 'data.jsonl',
    *pieces() {
      yield '{}\n{"a":"'
      for (;;) {
        pieces++
        yield 'x'.repeat(1 << 20)
      }
    },
  }
  await expect(drawItems(stream, (line) => line, { limit: 1 })).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/^line 2 of data\.jsonl has more than 16777216 characters/),
  })
  expect(pieces).toBe(16)
})

test('answers may be missing for unused items, but not for used ones', async () => {
  const parameters = { type: 'dict', properties: {} }
  const question = (id: string) => ({ id, question: [[]], function: [{ name: 'f', parameters }] })
  const lines = (...values: object[]) => file(values.map((each) => JSON.stringify(each)).join('\n')).stream
  const questions = lines(question('a'), question('b'))
  const answers = lines({ id: 'b', ground_truth: [{}, {}] }, { id: 'a', ground_truth: [{ f: {} }] })
  const right = lines({ id: 'a', ground_truth: [{ f: {} }] })
  const task = await bfcl('bfcl_simple', questions, right, { limit: 1 })
  expect({ count: task.count, ids: task.items.map(({ id }) => id) }).toEqual({ count: 2, ids: ['a'] })
  await expect(bfcl('bfcl_simple', questions, right, {})).rejects.toMatchObject({
    message: expect.stringMatching(/line 2 has the id "b", which is missing in data\.jsonl/),
  })
  await expect(bfcl('bfcl_simple', questions, answers, { limit: 1 })).rejects.toMatchObject({
    message: expect.stringMatching(/line 1 does not have exactly one call/),
  })
})
