// Node tests of the ONNX standard. In: ../shared/fixtures/onnx/node. Out: whether every case of every claimed
// operator passes. operators.test.ts has a selection that is always there.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { judgeCase, readCase } from './node-case.ts'

const CASES = join(import.meta.dirname, '../../../../shared/fixtures/onnx/node')

test.skipIf(!existsSync(CASES))('claimed operators pass all their cases', { timeout: 120_000 }, async () => {
  const failed: string[] = []
  for (const name of readdirSync(CASES).filter((each) => existsSync(join(CASES, each, 'model.onnx')))) {
    const verdict = await judgeCase(await readCase(join(CASES, name)))
    if (verdict.is === 'failed') failed.push(`${name}: ${verdict.why}`)
  }
  expect(failed).toEqual([])
})
