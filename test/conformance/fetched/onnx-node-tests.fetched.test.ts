// Node tests of the ONNX standard. In: the tests of the Python package onnx ("npm run setup --
// onnx-node-tests"). Out: whether every case of every claimed operator passes, evaluated and compiled.
// operators.test.ts and compiled.test.ts run a committed selection.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requireTestData } from '../../../scripts/models/test-data.mjs'
import { judgeCompiled, judgeNetworks } from '../onnx/compiled-case.ts'
import { judgeCase, readCase } from '../onnx/node-case.ts'

const FOLDER = requireTestData('onnx-node-tests')
const cases = await Promise.all(readdirSync(FOLDER).map((name) => readCase(join(FOLDER, name))))

test('claimed operators pass all their cases', async () => {
  expect(cases).toHaveLength(1765)
  const failed: string[] = []
  let passed = 0
  for (const each of cases) {
    const verdict = await judgeCase(each)
    if (verdict.is === 'failed') failed.push(`${each.name}: ${verdict.why}`)
    if (verdict.is === 'passed') passed++
  }
  expect(failed).toEqual([])
  expect(passed).toBeGreaterThan(1710)
})

test('compiled graphs give the outputs of all supported cases', async () => {
  const { failed, passed } = await judgeCompiled(cases)
  expect(failed).toEqual([])
  expect(passed.length).toBeGreaterThan(60)
})

test('networks match the outputs of all cases of claimed operators', async () => {
  const { failed, passed } = await judgeNetworks(cases)
  expect(failed).toEqual([])
  expect(passed).toBeGreaterThan(1710)
})
