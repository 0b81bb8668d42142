// Runs the kernels' tests on the kernels compiled for this machine under sanitizers. Writes
// build/reports/sanitizers.json, and fails if a kernel was not run in all its forms
// (docs/internals/sanitizers.md).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { requirePinnedNode, root } from '../pinned-node.mjs'
import { setUp } from '../setup.mjs'

requirePinnedNode()

const fail = (message) => {
  console.error(`sanitizers: ${message}`)
  process.exit(1)
}

if (setUp(['simde', 'emscripten']).length > 0) process.exit(1)
const { buildNative } = await import('../../wasm/native/build.mjs')
const start = performance.now()
const built = await buildNative().catch((error) => fail(error.message))
const seconds = ((performance.now() - start) / 1000).toFixed(1)
console.log(
  `sanitizers: ${built.objects} objects compiled, ${built.programs} programs linked in ${seconds} s`,
)
const wasm = spawnSync(process.execPath, ['wasm/tools/build.mjs'], { cwd: root, stdio: 'inherit' })
if (wasm.status !== 0) process.exit(1)

const covered = join(root, 'build/native/covered.txt')
rmSync(covered, { force: true })
mkdirSync(join(root, 'build/reports'), { recursive: true })
const { status } = spawnSync(
  join(root, 'node_modules/.bin/vitest'),
  [
    'run',
    '--project',
    'sanitizers',
    '--reporter=default',
    '--reporter=json',
    '--outputFile.json=build/reports/sanitizers.json',
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: 'inherit' },
)
if (status !== 0) process.exit(1)
if (process.argv.length > 2) process.exit(0)

// Lists the kernels in the forms that the tests ran.
process.env.HALFBYTE_KERNELS = 'native'
const { missingKernels, kernelCount } = await import('../../wasm/testing/kernel-list.ts')
const missing = missingKernels(existsSync(covered) ? readFileSync(covered, 'utf8') : '')
if (missing.length > 0) fail(`${missing.length} kernels were not run: ${missing.join(', ')}`)
console.log(`sanitizers: all ${kernelCount} kernels ran in all their forms`)
