// The committed selection of node tests. In: folders of the node tests of ONNX 1.x (github.com/onnx/onnx,
// Apache-2.0) and of its simple models. Out: golden/node-tests.jsonl with the smallest cases of each claimed
// operator. `node test/conformance/onnx/pack.ts FOLDER...`
import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GOLDEN, judgeCase, packed, readCase, readPacked } from './node-case.ts'

const folders = process.argv.slice(2)
if (folders.length === 0) throw new RangeError('name a folder of node tests')
/** Maximum cases per operator, and maximum bytes of a case. */
const MAX_CASES = 3
const MAX_BYTES = 5_000

const counts = new Map<string, number>()
for (const each of await readPacked(GOLDEN[1]!)) {
  const verdict = await judgeCase(each)
  if (verdict.is === 'passed') for (const op of verdict.ops) counts.set(op, 1)
}
const found: { line: string; ops: readonly string[]; isExpanded: boolean }[] = []
const paths = await Promise.all(
  folders.map(async (folder) => (await readdir(folder)).sort().map((name) => join(folder, name))),
)
for (const path of paths.flat()) {
  if (!existsSync(join(path, 'model.onnx'))) continue
  const each = await readCase(path)
  const verdict = await judgeCase(each)
  if (verdict.is === 'passed')
    found.push({
      line: packed(each),
      ops: [...new Set(verdict.ops)],
      isExpanded: each.name.includes('_expanded'),
    })
}
// Functions written out as nodes test other operators, so they come last, and only for operators without
// other cases.
found.sort((a, b) => Number(a.isExpanded) - Number(b.isExpanded) || a.line.length - b.line.length)
const chosen = found.filter(({ line, ops, isExpanded }) => {
  const isWanted = ops.some((op) => {
    const count = counts.get(op) ?? 0
    return count === 0 || (!isExpanded && count < MAX_CASES && line.length <= MAX_BYTES)
  })
  if (isWanted) for (const op of ops) counts.set(op, (counts.get(op) ?? 0) + 1)
  return isWanted
})
await writeFile(
  GOLDEN[0]!,
  chosen
    .map(({ line }) => `${line}\n`)
    .sort()
    .join(''),
)
console.log(`${chosen.length} cases of ${counts.size} operators`)
