// Mutators. In: valid files, texts and documents. Out: changed ones, the same for the same seed, with changes
// at every depth.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { modelBytes, type WrittenGraph } from '../../../src/network/onnx/testing/write-model.ts'
import { ggufBytes } from '../../conformance/testing/writers/gguf-writer.ts'
import { Random } from '../../helpers/random.ts'
import { corpusOf } from '../corpus.ts'
import { layoutOf } from '../gguf-layout.ts'
import { restoreInput, storeInput } from '../input.ts'
import { TARGETS } from '../target.ts'
import { Raw, textOfTree, treeOf } from './json-tree.ts'
import { mutateBytes } from './mutate-bytes.ts'
import { mutateGraph } from './mutate-graph.ts'
import { mutateJson } from './mutate-json.ts'
import { fieldsOf, mutateProto } from './mutate-proto.ts'
import { mutateText } from './mutate-text.ts'

const good = { name: 'x', list: [1, 2.5, null, true], nested: { 'a b': '\u2028' } }

test("random numbers depend only on the seed and the input's number", () => {
  const drawn = (seed: number, index: number) => {
    const random = new Random(seed, index)
    return Array.from({ length: 20 }, () => random.below(1000))
  }
  expect(drawn(1, 2)).toEqual(drawn(1, 2))
  expect(drawn(1, 2)).not.toEqual(drawn(1, 3))
  expect(drawn(1, 2)).not.toEqual(drawn(2, 2))
  const many = Array.from({ length: 2000 }, (_, index) => new Random(7, index).unit())
  expect(many.filter((unit) => unit < 0.1).length).toBeGreaterThan(140)
  expect(many.filter((unit) => unit < 0.1).length).toBeLessThan(260)
})

test('a tree is serialised as its document, or as text that no parsed document could become', () => {
  expect(JSON.parse(textOfTree(treeOf(good)))).toEqual(good)
  expect(textOfTree([new Raw('1e999'), treeOf(Number.POSITIVE_INFINITY)])).toBe('[1e999,1e999]')
})

test('documents change at every depth, most stay JSON, and the original is left unchanged', () => {
  const tree = treeOf(good)
  const texts = Array.from({ length: 3000 }, (_, index) => textOfTree(mutateJson(new Random(3, index), tree)))
  expect(textOfTree(tree)).toBe(JSON.stringify(good))
  expect(new Set(texts).size).toBeGreaterThan(1500)
  const isJson = (text: string) => {
    try {
      return JSON.parse(text) !== undefined
    } catch {
      return false
    }
  }
  expect(texts.filter(isJson).length).toBeGreaterThan(2200)
  for (const part of ['__proto__', '1e999', '"toString":1', '[[[[', '"a b":'])
    expect(texts.some((text) => text.includes(part))).toBe(true)
  // A duplicate key, which no parsed value has.
  expect(texts.some((text) => text.match(/"name":/g)?.length === 2)).toBe(true)
})

test('bytes change in length and in value, and texts get new words', () => {
  const bytes = Uint8Array.from({ length: 64 }, (_, index) => index)
  const changed = Array.from({ length: 500 }, (_, index) => mutateBytes(new Random(3, index), bytes))
  expect(changed.some(({ length }) => length < 64)).toBe(true)
  expect(changed.some(({ length }) => length > 64)).toBe(true)
  expect([...bytes.keys()]).toEqual([...bytes])
  const texts = Array.from({ length: 200 }, (_, index) => mutateText(new Random(3, index), 'abc', ['WORD']))
  expect(texts.some((text) => text.includes('WORD'))).toBe(true)
})

test('fields of a protobuf change at every depth, and its lengths stay correct', () => {
  const graph = (op: string): WrittenGraph => ({
    nodes: ['a', 'b', 'c'].map((name) => ({ op, inputs: ['x', name], outputs: [`${name}y`] })),
  })
  const good = modelBytes(graph('Add'))
  const donor = modelBytes(graph('Mul'))
  const before = good.slice()
  const all = Array.from({ length: 1000 }, (_, index) => mutateProto(new Random(3, index), good, [donor]))
  expect(good).toEqual(before)
  expect(all.filter((bytes) => fieldsOf(bytes) !== undefined).length).toBeGreaterThan(950)
  const nodes = all.map((bytes) => {
    const body = fieldsOf(bytes)?.find(({ number }) => number === 7)
    return body && fieldsOf(bytes.subarray(body.from, body.end))?.filter(({ number }) => number === 1)
  })
  expect(nodes.filter((found) => found !== undefined).length).toBeGreaterThan(850)
  const counts = new Set(nodes.map((found) => found?.length))
  for (const count of [2, 3, 4]) expect(counts).toContain(count)
  expect(all.some((bytes) => Buffer.from(bytes).includes('Mul'))).toBe(true)
})

test('the layout of a GGUF lists each number of its header', async () => {
  const bytes = await ggufBytes({
    metadata: { a: ['u32', 77], b: ['string[]', ['x', 'yy']], c: ['f64', 1] },
    tensors: [{ name: 't', dtype: 'F32', shape: [2, 3], data: () => [new Uint8Array(24)] }],
  })
  const { fields, entries, headBytes } = layoutOf(bytes)
  expect(entries).toHaveLength(3)
  expect(headBytes).toBeLessThan(bytes.length)
  const view = new DataView(bytes.buffer)
  const numberAt = ({ at, bytes: size }: (typeof fields)[number]) =>
    size === 8 ? Number(view.getBigUint64(at, true)) : size === 4 ? view.getUint32(at, true) : undefined
  const values = fields.map(numberAt)
  expect(values.slice(0, 6)).toEqual([3, 1, 3, 1, 4, 77])
  expect(values.slice(-6)).toEqual([1, 2, 3, 2, 0, 0])
})

test('inputs are restored from their stored form', () => {
  const input = { text: 'a\ud800', bytes: Uint8Array.of(1, 2, 255) }
  expect(restoreInput(JSON.parse(JSON.stringify(storeInput(input))))).toEqual(input)
})

// Two corpora are empty or have packs without titles.
test.each(TARGETS.filter((name) => name !== 'hbm' && name !== 'fallback'))(
  'the entries of the corpus of %s have different titles',
  async (name) => {
    const titles = (await corpusOf(name)).map(({ title }) => title)
    expect(titles.length).toBeGreaterThan(3)
    expect(new Set(titles).size).toBe(titles.length)
  },
)

test('semantic changes leave the ONNX file well-formed, and every kind occurs', async () => {
  const path = join(import.meta.dirname, '../../conformance/onnx/exports/llama-cache/model.onnx')
  const exported = new Uint8Array(readFileSync(path))
  const changes: string[] = []
  for (let index = 0; index < 60; index++) {
    const { bytes, change } = mutateGraph(new Random(3, index), exported)
    changes.push(change)
    expect(fieldsOf(bytes)).toHaveLength(fieldsOf(exported)!.length)
    const isRead = await readModel(bufferSource('model.onnx', bytes)).then(
      ({ graph }) => graph.nodes.length > 0,
      (error) => isHalfbyteError(error),
    )
    expect(isRead).toBe(true)
    if (change === '') expect(bytes).toEqual(exported)
  }
  for (const kind of ['wrappedInIf', 'wrappedInLoop', 'shared', 'otherOperator', 'otherConstant'])
    expect(changes.join()).toContain(kind)
})
