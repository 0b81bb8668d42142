// Measures which instructions share units with the integer dot on this processor, and the fastest possible
// tiles of a product of many rows, as tables. Needs x64 with AVX-VNNI, and clang or gcc.
//
//   npx node lab/bench/dots/main.ts [rounds]
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Loop, mixes, program, tile, type Without } from './loops.ts'

const rounds = Number(process.argv[2] ?? 2000)
const compiler = ['clang-19', 'clang', 'gcc'].find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
)
if (compiler === undefined) throw new Error('clang and gcc are missing; install one of them')
const folder = join(import.meta.dirname, '../../../build/bench/dots')
mkdirSync(folder, { recursive: true })

/** GOP/s of each loop: 32 operations for a dot. */
const measure = (loops: readonly Loop[]) => {
  writeFileSync(join(folder, 'loops.c'), program(loops, rounds))
  execFileSync(compiler, ['-O1', join(folder, 'loops.c'), '-o', join(folder, 'loops')])
  const times = execFileSync(join(folder, 'loops'), { encoding: 'utf8' }).trim().split('\n').map(Number)
  return loops.map(({ dots }, i) => (dots * 32) / times[i]!)
}

const mixed = mixes()
const TILES = [
  [4, false],
  [5, false],
  [4, true],
  [5, true],
  [6, true],
] as const
const WITHOUT: readonly (Without | undefined)[] = [
  undefined,
  'unpacking',
  'splats',
  'stored sums',
  'one product',
  'products',
  'epilogue',
]
const tiles = WITHOUT.flatMap((without) => TILES.map(([rows, isLaid]) => tile(rows, isLaid, without)))
const speeds = measure([...mixed, ...tiles])

const row = (cells: readonly string[]) => console.log(`| ${cells.join(' | ')} |`)
row(['dots with as many', 'GOP/s'])
row(['---', '--:'])
mixed.forEach(({ name }, i) => {
  row([name, speeds[i]!.toFixed(0)])
})
console.log()
row([
  'without',
  ...TILES.map(([rows, isLaid]) => `${rows} rows, ${isLaid ? 'unpacked beforehand' : 'nibbles'}`),
])
row(['---', ...TILES.map(() => '--:')])
WITHOUT.forEach((without, i) => {
  const from = mixed.length + i * TILES.length
  const cells = TILES.map(([, isLaid], j) =>
    isLaid && without === 'unpacking' ? '' : speeds[from + j]!.toFixed(0),
  )
  row([without ?? 'nothing', ...cells])
})
