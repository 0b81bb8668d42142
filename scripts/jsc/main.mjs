// Runs the kernel tests of test/arm/ in the shell of JavaScriptCore, every iPhone's engine: on this processor
// and on arm64, with and without the optimising compiler. It writes a TAP report to build/reports/jsc.tap. If
// the shell is missing, one test is skipped.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { requirePinnedNode, root } from '../pinned-node.mjs'
import { jscCommand, PROCESSORS } from './shell.mjs'

requirePinnedNode()

/** Compiles functions at their first call, synchronously, with a single compiler. */
const WAITS = ['--useConcurrentJIT=0', '--useWasmIPInt=0', '--useWasmLLInt=0']
const COMPILERS = {
  BBQ: [...WAITS, '--useOMGJIT=0'],
  OMG: [...WAITS, '--thresholdForOMGOptimizeAfterWarmUp=1', '--thresholdForOMGOptimizeSoon=1'],
}
const TESTS = ['test/arm/kernels.test.ts', 'test/arm/sparse.test.ts']
const SHIMS = join(root, 'scripts/jsc/shims.mjs')

/** One script with all tests, because the shell lacks Node's modules. */
const bundle = async () => {
  const entry = 'halfbyte:jsc'
  const build = await rolldown({
    input: entry,
    platform: 'neutral',
    treeshake: false,
    plugins: [
      {
        name: 'shims',
        resolveId: (id) => {
          if (id === entry) return id
          return id.startsWith('node:') || id.endsWith('/native.ts') ? SHIMS : undefined
        },
        load: (id) =>
          id === entry
            ? [SHIMS, ...TESTS.map((file) => join(root, file))]
                .map((file) => `import ${JSON.stringify(file)}`)
                .join('\n')
            : undefined,
      },
    ],
  })
  const { output } = await build.generate({ format: 'iife' })
  await build.close()
  return output[0].code
}

const reports = join(root, 'build/reports')
mkdirSync(reports, { recursive: true })
const script = join(reports, 'jsc.js')
const lines = []
let isFailed = false
const found = PROCESSORS.filter((processor) => jscCommand(processor) !== undefined)
const code = found.length > 0 ? await bundle() : ''
if (found.length === 0)
  lines.push('ok 1 - kernels in JavaScriptCore # SKIP the shell is missing; run "npm run setup jsc"')

for (const processor of found) {
  const [command, ...prefix] = jscCommand(processor)
  for (const [compiler, options] of Object.entries(COMPILERS)) {
    const arch = JSON.stringify(processor === 'amd64' ? 'x64' : processor)
    const first = `globalThis.HALFBYTE = { processor: ${arch} };`
    writeFileSync(script, `${first}\n${code}\nif (failed > 0) quit(1)\n`)
    const { status, stdout, stderr, error } = spawnSync(command, [...prefix, ...options, script], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    })
    const results = stdout?.split('\n').filter((line) => line !== '') ?? []
    const isRun = results.some((line) => line.startsWith('ok '))
    if (status !== 0 || !isRun) {
      isFailed = true
      if (!results.some((line) => line.startsWith('not ok '))) {
        results.push(`not ok - the shell stopped (${status}): ${(stderr ?? error?.message ?? '').trim()}`)
      }
    }
    lines.push(...results.map((line) => line.replace(' - ', ` - ${processor}, ${compiler}: `)))
  }
}

const count = (pattern) => lines.filter((line) => pattern.test(line)).length
const skipped = count(/^ok .*# SKIP/)
const passed = count(/^ok /) - skipped
const failed = count(/^not ok /)
const tap = [
  'TAP version 13',
  ...lines,
  `1..${passed + failed + skipped}`,
  `# pass ${passed}`,
  `# fail ${failed}`,
  `# skipped ${skipped}`,
].join('\n')
console.log(tap)
writeFileSync(join(reports, 'jsc.tap'), `${tap}\n`)
process.exit(isFailed ? 1 : 0)
