// Operators of ONNX. In: node tests of the ONNX standard and cases of ONNX Runtime, in golden/. Out: whether
// the evaluator and the shape rule of every claimed operator agree with them.
import { expect, test } from 'vitest'
import { OPERATORS } from '../../../src/network/onnx/operators.ts'
import { GOLDEN, judgeCase, readPacked } from './node-case.ts'

const cases = (await Promise.all(GOLDEN.map(readPacked))).flat()

test.each(cases)('$name', async (each) => {
  const verdict = await judgeCase(each)
  expect(verdict).toMatchObject({ is: 'passed' })
})

test('every claimed operator has a case', async () => {
  const verdicts = await Promise.all(cases.map((each) => judgeCase(each)))
  const tested = new Set(verdicts.flatMap((verdict) => (verdict.is === 'passed' ? verdict.ops : [])))
  const untested = OPERATORS.filter(({ domain, name }) => !tested.has(`${domain}:${name}`))
  expect(untested.map(({ name }) => name)).toEqual([])
})
