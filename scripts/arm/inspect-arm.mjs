// Prints Markdown tables of TurboFan's machine code for the kernels' inner loops, on arm64 and on this
// machine.
//
// npm run inspect:arm [FOLDER] also stores the full listings in the folder. The arm64 Node runs natively or
// under QEMU.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requirePinnedNode, root } from '../pinned-node.mjs'
import { printArguments, readCode } from './machine-code.mjs'
import { mainLoops } from './main-loops.mjs'

requirePinnedNode()

const [folder] = process.argv.slice(2)

const print = (arch, build) => {
  const module = join(root, `build/test-wasm/halfbyte-${build}-plain.wasm`)
  const runner = arch === process.arch ? [] : [join(root, 'scripts/arm/arm.mjs'), '--run']
  const { status, stdout, stderr } = spawnSync(process.execPath, [...runner, ...printArguments(module)], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`the ${arch} code of ${module} could not be printed: ${stderr.trim()}`)
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${build}-${arch}.txt`), stdout)
  }
  return readCode(stdout)
}

const COLUMNS = [
  ['loop', (row) => row.kernel],
  ['tokens', (row) => row.tokens],
  ['bytes', (row) => row.bytes],
  ['instructions', (row) => row.instructions],
  ['on vectors', (row) => row.vector],
  ['dots', (row) => row.dots || `${row.multiplies} mul`],
  ['loads', (row) => row.loads],
  ['splats', (row) => row.splats],
  ['and, shift', (row) => row.logic],
  ['spills', (row) => row.spills],
  ['scalar spills', (row) => row.scalarSpills],
  ['registers', (row) => row.registers],
]
const PER_BYTE = [
  ['dots', (row) => row.dots || row.multiplies],
  ['loads', (row) => row.loads],
  ['splats', (row) => row.splats],
  ['spills', (row) => row.spills],
]
const line = (cells) => `| ${cells.join(' | ')} |`

for (const arch of new Set(['arm64', process.arch])) {
  for (const build of ['relaxed', 'simd128']) {
    // Loops without an integer dot have the same code in both builds.
    const rows = mainLoops(print(arch, build), arch, build).filter(
      ({ dots }) => dots > 0 || build === 'relaxed',
    )
    const titles = [...COLUMNS.map(([title]) => title), ...PER_BYTE.map(([title]) => `${title} / byte`)]
    console.log(`\n### ${arch}, ${build}\n`)
    console.log(line(titles))
    console.log(line(titles.map((_, i) => (i === 0 ? '---' : '--:'))))
    for (const row of rows) {
      const counts = COLUMNS.map(([, value]) => value(row))
      console.log(line([...counts, ...PER_BYTE.map(([, value]) => (value(row) / row.bytes).toFixed(3))]))
    }
  }
}
const { node, v8 } = process.versions
console.log(`\nNode ${node}, V8 ${v8}`)
