// Exporters' graphs. In: a folder written by the Python scripts next to this file, and parts of names to
// select. Out: a Markdown table of which graphs load and how far their logits are from ONNX Runtime's. `npm
// run conformance:exporters -- FOLDER [NAME...]`
import { exportNames, readExport } from './folder.ts'
import { judgeExport } from './judge.ts'
import { markdownTable } from './verdict.ts'

const [folder, ...wanted] = process.argv.slice(2)
if (folder === undefined)
  throw new RangeError('name a folder of exports: npm run conformance:exporters -- FOLDER')
const names = exportNames(folder).filter(
  (name) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
)
if (names.length === 0) throw new RangeError(`${folder} has no exports of that name`)
const rows = []
for (const name of names) {
  const each = readExport(folder, name)
  const verdict = await judgeExport(each)
  if (verdict.is === 'different') process.exitCode = 1
  process.stderr.write(`${name}: ${verdict.is}${verdict.is === 'refused' ? `: ${verdict.why}` : ''}\n`)
  rows.push({ meta: each.meta, verdict })
}
console.log(markdownTable(rows))
