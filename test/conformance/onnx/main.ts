// ONNX node tests. In: a folder of cases, and parts of names to select. Out: every failure, the unclaimed
// cases, and counts. `npm run conformance:onnx -- FOLDER [--claims] [NAME...]`
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { OPERATORS } from '../../../src/network/onnx/operators.ts'
import { type Case, GOLDEN, judgeCase, readCase, readPacked } from './node-case.ts'

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

const tested = new Set<string>()

async function judge(each: Case, counts: { passed: number; failed: number; 'not claimed': number }) {
  const verdict = await judgeCase(each)
  counts[verdict.is]++
  if (verdict.is === 'passed') for (const op of verdict.ops) tested.add(op)
  if (verdict.is === 'failed') console.log(`${each.name} failed: ${verdict.why}`)
  if (verdict.is === 'not claimed' && showsClaims) console.log(`${each.name}: ${verdict.why}`)
}

const counts = { passed: 0, failed: 0, 'not claimed': 0 }
for (const name of names) await judge(await readCase(join(parent, name)), counts)
// Operators without node tests in the standard are tested on cases of ONNX Runtime.
const golden = { passed: 0, failed: 0, 'not claimed': 0 }
for (const path of wanted.length === 0 ? GOLDEN : [])
  for (const each of await readPacked(path)) await judge(each, golden)
const untested = OPERATORS.filter(({ domain, name }) => !tested.has(`${domain}:${name}`))
const lacks = wanted.length === 0 && !isCase && untested.length > 0
if (lacks) console.log(`claimed without a case that passed: ${untested.map(({ name }) => name).join(', ')}`)
const shown = ({ passed, failed, ...rest }: typeof counts) =>
  `${passed} passed, ${failed} failed, ${rest['not claimed']} not claimed`
if (wanted.length === 0) console.log(`cases in the tree: ${shown(golden)}`)
console.log(shown(counts))
if (counts.failed + golden.failed + golden['not claimed'] > 0 || lacks) process.exitCode = 1
