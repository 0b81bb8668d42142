// The optimiser's models. In: a folder of ONNX Runtime's optimiser tests. Out: for each model the number of
// nodes before, after our passes and after ONNX Runtime's basic ones, and whether the outputs stay the same.
// `node test/conformance/onnx/optimiser.ts FOLDER`
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { optimise } from './optimiser-case.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new RangeError('name a folder of models')
const theirs: Record<string, number> = JSON.parse(
  await readFile(new URL('golden/optimised-counts.json', import.meta.url), 'utf8'),
)
const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.onnx')).sort()
const counts = { same: 0, differs: 0, 'not run': 0, refused: 0, 'not read': 0, reached: 0, compared: 0 }
for (const name of names) {
  const made = await optimise(name, new Uint8Array(await readFile(join(folder, name))))
  counts[made?.is ?? 'not read']++
  if (made === undefined) continue
  const due = theirs[name]
  if (due !== undefined) counts.compared++
  if (due !== undefined && made.after <= due) counts.reached++
  const shown = `${made.before} -> ${made.after}, ${due ?? 'not opened'} by ONNX Runtime`
  console.log(`${name}: ${shown}, ${made.is}${made.why === undefined ? '' : `: ${made.why}`}`)
}
console.log(
  `${names.length} models: ${counts.same} same, ${counts.differs} differ, ${counts['not run']} not run, ` +
    `${counts.refused} refused, ${counts['not read']} not read; ${counts.reached} of ${counts.compared} reach ONNX Runtime's node count`,
)
if (counts.differs > 0) process.exitCode = 1
