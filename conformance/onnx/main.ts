// ONNX node tests. In: a folder of cases, and parts of the names of those that are wanted. Out: every failure,
// what is not claimed, and the counts. `npm run conformance:onnx -- FOLDER [--claims] [NAME...]`
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { OPERATORS } from '../../src/onnx/operators.ts'
import { judgeCase } from './node-case.ts'

const given = process.argv.slice(2)
const showsClaims = given.includes('--claims')
const [folder, ...wanted] = given.filter((each) => each !== '--claims')
if (folder === undefined)
  throw new RangeError('name a folder of node tests: npm run conformance:onnx -- FOLDER')
const isCase = existsSync(join(folder, 'model.onnx'))
const parent = isCase ? dirname(resolve(folder)) : folder
const names = (isCase ? [basename(resolve(folder))] : (await readdir(folder)).sort())
  .filter((name) => existsSync(join(parent, name, 'model.onnx')))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
if (names.length === 0) throw new RangeError(`${folder} has no node tests of that name`)

const counts = { passed: 0, failed: 0, 'not claimed': 0 }
const tested = new Set<string>()
for (const name of names) {
  const verdict = await judgeCase(join(parent, name))
  counts[verdict.is]++
  if (verdict.is === 'passed') for (const op of verdict.ops) tested.add(op)
  if (verdict.is === 'failed') console.log(`${name} failed: ${verdict.why}`)
  if (verdict.is === 'not claimed' && showsClaims) console.log(`${name}: ${verdict.why}`)
}
// Operators of com.microsoft have no node tests; src/onnx/operators/ tests them on onnxruntime's cases.
const untested = OPERATORS.filter(({ domain, name }) => domain === '' && !tested.has(`${domain}:${name}`))
if (wanted.length === 0 && untested.length > 0) {
  console.log(`claimed without a case that passed: ${untested.map(({ name }) => name).join(', ')}`)
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts['not claimed']} not claimed`)
if (counts.failed > 0) process.exitCode = 1
