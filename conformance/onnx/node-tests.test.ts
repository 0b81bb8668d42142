// Node tests of the ONNX standard. In: ../shared/fixtures/onnx/node. Out: whether every case of every claimed
// operator passes, and whether each has one.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OPERATORS } from '../../src/onnx/operators.ts'
import { judgeCase } from './node-case.ts'

const CASES = join(import.meta.dirname, '../../../shared/fixtures/onnx/node')

test.skipIf(!existsSync(CASES))('claimed operators pass all their cases', { timeout: 120_000 }, async () => {
  const tested = new Set<string>()
  const failed: string[] = []
  for (const name of readdirSync(CASES).filter((each) => existsSync(join(CASES, each, 'model.onnx')))) {
    const verdict = await judgeCase(join(CASES, name))
    if (verdict.is === 'failed') failed.push(`${name}: ${verdict.why}`)
    if (verdict.is === 'passed') for (const op of verdict.ops) tested.add(op)
  }
  expect(failed).toEqual([])
  const claimed = OPERATORS.filter(({ domain }) => domain === '').map(({ name }) => `:${name}`)
  expect(claimed.filter((each) => !tested.has(each))).toEqual([])
})
