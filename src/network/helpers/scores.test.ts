// Scores of classifiers, recognizers and detectors. In: numbers. Out: probabilities, classes, texts and
// boxes.
import { expect, test } from 'vitest'
import { ctcDecode } from './ctc-decode.ts'
import { nonMaxSuppression } from './non-max-suppression.ts'
import { softmax } from './softmax.ts'
import { topK } from './top-k.ts'

const tensor = (dims: number[], values: readonly number[]) => ({
  ...{ dtype: 'f32' as const, dims },
  data: Float32Array.from(values),
})

test('softmax gives probabilities along the last axis', () => {
  const found = softmax(tensor([2, 3], [0, Math.log(2), Math.log(5), 1000, 1000, Number.NEGATIVE_INFINITY]))
  expect([...found].map((value) => Math.round(value * 1e6) / 1e6)).toEqual([0.125, 0.25, 0.625, 0.5, 0.5, 0])
  expect([...softmax([3, 3])]).toEqual([0.5, 0.5])
  expect(softmax([])).toHaveLength(0)
})

test('softmax rejects values that are not numbers', () => {
  expect(() => softmax('abc' as never)).toThrow('scores is "abc"')
  expect(() => softmax({ dtype: 'i64', dims: [1], data: BigInt64Array.of(1n) })).toThrow('scores is')
  expect(() => softmax(tensor([2, 2], [1, 2, 3]))).toThrow('3 numbers but its dims [2,2] need 4')
})

test('topK sorts by score, then by position, and puts NaN last', () => {
  const row = [Number.NaN, 1, Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY, 5]
  expect(topK(row, 10).map(({ index }) => index)).toEqual([2, 5, 1, 3, 4, 0])
  expect(topK(tensor([1, 3], [1, 3, 2]), 2)).toEqual([
    { index: 1, score: 3 },
    { index: 2, score: 2 },
  ])
  expect(() => topK(tensor([2, 2], [1, 2, 3, 4]), 1)).toThrow('a single row')
  expect(() => topK([1], 0)).toThrow('k is 0')
})

/** Probabilities in which the best class of each step has the given score. */
const stepsOf = (path: readonly (readonly [best: number, score: number])[], classes: number) =>
  path.flatMap(([best, score]) =>
    Array.from({ length: classes }, (_, at) => (at === best ? score : (1 - score) / (classes - 1))),
  )

test('ctcDecode merges repeats, drops blanks and keeps doubled characters', () => {
  const path = [
    [0, 0.9],
    [1, 0.6],
    [1, 0.8],
    [0, 0.9],
    [1, 1],
    [2, 0.6],
    [0, 1],
  ] as const
  const [read] = ctcDecode(tensor([7, 3], stepsOf(path, 3)), { characters: 'ab' })
  expect(read?.text).toBe('aab')
  expect(read?.confidence).toBeCloseTo((0.8 + 1 + 0.6) / 3, 6)
  expect(read?.steps).toEqual([1, 4, 5])
})

test('ctcDecode takes a batch, a blank anywhere, logits and characters of several units', () => {
  const path = [
    [0, 0.9],
    [2, 0.9],
    [1, 0.9],
    [2, 0.9],
    [2, 0.9],
    [2, 0.9],
  ] as const
  const logits = tensor([2, 3, 3], stepsOf(path, 3).map(Math.log))
  const found = ctcDecode(logits, { characters: ['ng', '\u{1f600}'], blank: 2, scores: 'logits' })
  expect(found.map(({ text }) => text)).toEqual(['ng\u{1f600}', ''])
  expect(found[0]?.confidence).toBeCloseTo(0.9, 5)
  expect(found[1]).toEqual({ text: '', confidence: 0, steps: [] })
  expect(ctcDecode(logits, { characters: 'a\u{1f600}', blank: 2 })[0]?.text).toBe('a\u{1f600}')
  expect(ctcDecode(tensor([1, 0, 3], []), { characters: 'ab' })).toEqual([
    { text: '', confidence: 0, steps: [] },
  ])
})

test('ctcDecode names a wrong number of characters, a wrong blank and wrong dims', () => {
  const one = tensor([1, 3], [1, 0, 0])
  expect(() => ctcDecode(one, { characters: 'abc' })).toThrow('3 characters but 3 classes')
  expect(() => ctcDecode(one, { characters: 'ab', blank: 3 })).toThrow('blank is 3')
  expect(() => ctcDecode(tensor([3], [1, 0, 0]), { characters: 'ab' })).toThrow('[batch, steps, classes]')
  expect(() => ctcDecode(one, {} as never)).toThrow('characters is undefined')
  expect(() => ctcDecode(one, { characters: 'ab', blanks: 1 } as never)).toThrow('the nearest is blank')
})

const BOXES = [0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30, 10, 10, 0, 0]

test('nonMaxSuppression keeps the best of overlapping boxes', () => {
  const scores = [0.5, 0.9, 0.3, 0.4]
  expect(nonMaxSuppression(BOXES, scores)).toEqual([1, 2])
  // 81 of 119 pixels: an overlap of 0.681.
  expect(nonMaxSuppression(BOXES, scores, { iouThreshold: 0.69 })).toEqual([1, 0, 2])
  expect(nonMaxSuppression(BOXES, scores, { scoreThreshold: 0.35 })).toEqual([1])
  expect(nonMaxSuppression(BOXES, scores, { maxBoxes: 1 })).toEqual([1])
  expect(nonMaxSuppression(BOXES, scores, { classes: [0, 1, 0, 1] })).toEqual([1, 0, 2])
  expect(nonMaxSuppression(tensor([1, 4, 4], BOXES), [Number.NaN, 0.1, 0.15, 0.2])).toEqual([3, 2])
  expect(nonMaxSuppression([], [])).toEqual([])
})

test('nonMaxSuppression takes boxes by their center', () => {
  const boxes = [5, 5, 10, 10, 6, 6, 10, 10, 25, 25, 10, 10]
  expect(nonMaxSuppression(boxes, [0.5, 0.9, 0.3], { format: 'center' })).toEqual([1, 2])
})

test('nonMaxSuppression names lists of different lengths and wrong options', () => {
  expect(() => nonMaxSuppression(BOXES, [1])).toThrow('scores has 1 numbers but there are 4 boxes')
  expect(() => nonMaxSuppression(BOXES, [1, 1, 1, 1], { classes: [1] })).toThrow('classes has 1')
  expect(() => nonMaxSuppression([1, 2, 3], [1])).toThrow('[boxes, 4]')
  expect(() => nonMaxSuppression(BOXES, [1, 1, 1, 1], { iouThreshold: 2 })).toThrow('iouThreshold is 2')
  expect(() => nonMaxSuppression(BOXES, [1, 1, 1, 1], { iou: 0.5 } as never)).toThrow('iou is not one of')
})
