// The full matrix. In: family names, by default all. Out: a table of families and pools with the largest
// difference from one thread, the failures, and the number of passes. `npm run conformance:all -- qwen2
// gemma3`
import {
  allCells,
  Comparison,
  FORMAT_BOUND,
  nameOf,
  POOLS,
  type Rounding,
  roundingOf,
} from './testing/families/matrix.ts'
import { MATRIX_FAMILIES } from './testing/families/matrix-families.ts'

const asked = process.argv.slice(2)
const families = MATRIX_FAMILIES.filter(({ name }) => asked.length === 0 || asked.includes(name))
const unknown = asked.filter((name) => !MATRIX_FAMILIES.some((family) => family.name === name))
if (unknown.length > 0) throw new RangeError(`no family is called ${unknown.join(', ')}`)

let passed = 0
const failures: string[] = []
function judge(title: string, difference: number, bound: number): void {
  // NaN counts as a failure.
  if (difference <= bound) passed++
  else failures.push(`${title}: ${difference}, and the bound is ${bound}`)
}

type Largest = Partial<Record<Rounding, number>>
const shown = ({ float, quantized, channel }: Largest): string =>
  [float, quantized, channel].map((value) => (value === undefined ? '-' : value.toExponential(1))).join(' ')

const columns = POOLS.map(({ pool, threads }) => `${pool} of ${threads}`)
console.log(
  'Largest difference: exact weights, w8 and w4 or a rounded KV cache, w4_channel; (1): on one thread\n',
)
console.log(`| family | formats | ${columns.join(' | ')} |`)
console.log(`|---|${'---|'.repeat(columns.length + 1)}`)
for (const family of families) {
  const comparison = new Comparison(family)
  const formats = await comparison.ofFormats('auto')
  judge(`${family.name}, formats`, formats, FORMAT_BOUND)
  const rows = new Map<string, Largest>()
  const alone = new Set<string>()
  for (const cell of allCells(family)) {
    const column = `${cell.pool} of ${cell.threads}`
    // This graph cannot be sharded, so only the first such cell is compared, on one thread.
    if (alone.has(column)) continue
    const title = `${family.name}, ${nameOf(cell)}`
    try {
      const { difference, bound, threads, note } = await comparison.of(cell)
      judge(title, difference, bound)
      if (note !== undefined && threads === 1) alone.add(column)
      const largest = rows.get(column) ?? {}
      const kind = roundingOf(cell)
      largest[kind] = Math.max(largest[kind] ?? 0, difference)
      rows.set(column, largest)
    } catch (error) {
      failures.push(`${title}: ${error}`)
    }
  }
  const cells = columns.map((column) => (alone.has(column) ? '(1)' : shown(rows.get(column) ?? {})))
  console.log(`| ${family.name} | ${formats.toExponential(1)} | ${cells.join(' | ')} |`)
}
for (const failure of failures) console.error(failure)
console.log(`\n${passed} passed, ${failures.length} failed`)
if (failures.length > 0) process.exitCode = 1
