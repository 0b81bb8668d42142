// Compiles the C files of wasm/ into the modules dist/wasm/halfbyte-{relaxed,simd128}-{shared,plain}.wasm,
// the same four with the test exports in build/test-wasm, those that measure the machine in build/limits, and
// the solver's in dist/solve. Rebuilds only objects and modules that are older than their sources.
//
// The modules are deliberately freestanding: clang compiles them through emcc, and wasm-ld of the same LLVM
// links them. wasm-opt never runs, because it reorders the kernels' loads and halves their speed.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, statSync, unlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findToolchain } from '../../scripts/toolchain.mjs'
import { GENERATED, writeKernelHeader } from './kernel-table.mjs'
import {
  ABI_DEFINE,
  engineSources,
  FORM_DEFINES,
  FORMS_OF_BUILD,
  filesIn,
  formsOf,
  OPS,
  sourcesIn,
} from './sources.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

const COMPILE = [
  '-O3',
  '-std=gnu17',
  '-ffp-contract=off',
  '-fno-math-errno',
  '-Wall',
  '-Wextra',
  '-Werror',
  '-msimd128',
]
const LINK = [
  '--no-entry',
  '--import-memory',
  '--export-table',
  '--growable-table',
  '--stack-first', // an overflow of the first stack traps at address 0 instead of overwriting data
  '-z',
  'stack-size=65536',
  '--export=__stack_pointer',
  '--export=__heap_base',
  '-O2',
]
const ISAS = { relaxed: ['-mrelaxed-simd'], simd128: [] }
const MEMORIES = {
  shared: { compile: ['-matomics', '-mbulk-memory'], link: ['--shared-memory', '--max-memory=4294967296'] },
  plain: { compile: ['-mbulk-memory'], link: [] },
}

const modified = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0)
const newest = (paths) => Math.max(0, ...paths.map(modified))

/**
 * Runs the jobs, at most one per core at a time. Throws the first failure after all others have ended.
 */
const inParallel = async (jobs) => {
  const waiting = [...jobs]
  const failures = []
  const worker = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      await job().catch((error) => failures.push(error))
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), 8) }, worker))
  if (failures.length > 0) throw failures[0]
}

const tool = async (command, args, what) => {
  try {
    // emcc would look for its own Node; the one that runs this script always exists.
    const env = { ...process.env, EM_NODE_JS: process.execPath }
    const { stderr } = await run(command, args, { cwd: root, env, maxBuffer: 1 << 24 })
    if (stderr.trim() !== '') console.error(stderr.trim())
  } catch (error) {
    const output = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim()
    throw new Error(`${what} failed: ${command} ${args.join(' ')}\n${output || error.message}`)
  }
}

const build = async () => {
  const { emcc, wasmLd } = findToolchain()
  const engine = engineSources()
  const tests = sourcesIn('testing')
  const limits = sourcesIn('limits')
  if (engine.length === 0) throw new Error('there are no C files in wasm/, so there is nothing to build')
  const headers = [
    ...filesIn().filter((path) => path.endsWith('.h')),
    ...filesIn('tools'),
    writeKernelHeader(),
    OPS,
  ]
  const shared = newest(headers)
  const compiles = []
  const links = []
  for (const [isa, isaFlags] of Object.entries(ISAS)) {
    for (const [memory, flags] of Object.entries(MEMORIES)) {
      const name = `halfbyte-${isa}-${memory}`
      const objectDir = join(root, 'build/wasm', name)
      mkdirSync(objectDir, { recursive: true })
      const objectOf = (source, suffix = '') =>
        join(
          objectDir,
          `${relative(join(root, 'wasm'), source).replaceAll(/[\\/]/g, '-')}`.replace(/\.c$/, `${suffix}.o`),
        )
      // Links form by form, so that the code of one form is contiguous.
      const kernels = Object.entries(FORM_DEFINES).flatMap(([form, defines]) =>
        FORMS_OF_BUILD[isa].includes(form)
          ? engine
              .filter((source) => formsOf(source).includes(form))
              .map((source) => [source, objectOf(source, form === 'quads' ? '' : `-${form}`), defines])
          : [],
      )
      const jobs = [...kernels, ...[...tests, ...limits].map((source) => [source, objectOf(source), []])]
      for (const [source, object, defines] of jobs) {
        if (modified(object) >= Math.max(modified(source), shared)) continue
        const args = [
          '-c',
          ...COMPILE,
          ...isaFlags,
          ...flags.compile,
          ...defines,
          ABI_DEFINE,
          '-I',
          join(root, 'wasm'),
          '-I',
          GENERATED,
          source,
          '-o',
          object,
        ]
        compiles.push(() => tool(emcc, args, `compiling ${relative(root, source)} for ${name}`))
      }
      const engineObjects = kernels.map(([, object]) => object)
      const outputs = [
        { path: join(root, 'dist/wasm', `${name}.wasm`), objects: engineObjects, extra: ['--strip-all'] },
        {
          path: join(root, 'build/test-wasm', `${name}.wasm`),
          objects: [...engineObjects, ...tests.map((source) => objectOf(source))],
          extra: [],
        },
        {
          path: join(root, 'build/limits', `${name}.wasm`),
          objects: limits.map((source) => objectOf(source)),
          extra: ['--strip-all'],
        },
      ]
      for (const { path, objects, extra } of outputs) {
        links.push({ path, objects, args: [...LINK, ...flags.link, ...extra, ...objects, '-o', path] })
      }
    }
  }
  const solved = sourcesIn('solve').map((source) => {
    const object = join(root, 'build/wasm', `${basename(source, '.c')}.o`)
    const args = ['-c', ...COMPILE, ...MEMORIES.shared.compile, source, '-o', object]
    if (modified(object) < Math.max(modified(source), shared))
      compiles.push(() => tool(emcc, args, `compiling ${relative(root, source)}`))
    return object
  })
  const solver = join(root, 'dist/solve/halfbyte-solve.wasm')
  const args = [...LINK, ...MEMORIES.shared.link, '--strip-all', ...solved, '-o', solver]
  links.push({ path: solver, objects: solved, args })
  const start = performance.now()
  await inParallel(compiles)
  // The objects of a module may differ even if all are older than it: a deleted source shows only in the
  // folder's modification time.
  const folders = newest([...engine, ...tests, ...limits].map((source) => join(source, '..')))
  const stale = links.filter(
    ({ path, objects }) => modified(path) < Math.max(newest(objects), folders, shared),
  )
  await inParallel(
    stale.map(({ path, args }) => async () => {
      mkdirSync(join(path, '..'), { recursive: true })
      if (existsSync(path)) unlinkSync(path)
      await tool(wasmLd, args, `linking ${relative(root, path)}`)
    }),
  )
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(
    compiles.length + stale.length === 0
      ? 'wasm: up to date'
      : `wasm: ${compiles.length} objects compiled, ${stale.length} modules linked in ${seconds} s`,
  )
}

try {
  await build()
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
