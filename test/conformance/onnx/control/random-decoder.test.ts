// Random control. In: a hundred small decoders with random masks, positions, rotations, lengths and states.
// Out: whether each matches ONNX Runtime or is rejected, and whether enough are accepted.
import { expect, test } from 'vitest'
import { judgeDecoder } from './judge.ts'
import { randomDecoder } from './random-decoder.ts'

const SEED = 26
const COUNT = 100
const MOST = 400

test('a hundred random decoders match ONNX Runtime, or are rejected by name', async () => {
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
  // A reader that rejected everything would pass the first check.
  expect(refused.length).toBeGreaterThan(20)
  expect(COUNT - refused.length).toBeGreaterThan(30)
})
