// Random control. In: a hundred small decoders whose masks, positions, rotations, lengths and states are
// drawn. Out: whether each answers as ONNX Runtime does or is rejected, and whether enough of them are read.
import { expect, test } from 'vitest'
import { judgeDecoder } from './judge.ts'
import { randomDecoder } from './random-decoder.ts'

const SEED = 26
const COUNT = 100
const MOST = 400

test('a hundred random decoders answer as ONNX Runtime does, or are rejected by name', async () => {
  const different: string[] = []
  const refused: string[] = []
  for (let index = 0; index < COUNT; index++) {
    const { form, lengths, labels, isRounded } = randomDecoder(SEED, index, MOST)
    const verdict = await judgeDecoder(form, lengths, isRounded)
    if (verdict.is === 'different') different.push(`${index} (${labels}): ${verdict.why}`)
    if (verdict.is === 'refused') refused.push(verdict.why)
  }
  expect(different).toEqual([])
  expect(refused.filter((why) => !why.startsWith('node '))).toEqual([])
  // A reader that refused everything would pass the first line.
  expect(refused.length).toBeGreaterThan(20)
  expect(COUNT - refused.length).toBeGreaterThan(30)
})
