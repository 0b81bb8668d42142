// Compiles the engine's C files, wasm/testing/*.c and host.c for this machine with simde, under
// AddressSanitizer and UndefinedBehaviorSanitizer, into build/native/halfbyte-{relaxed,simd128}. Rebuilds
// only outputs that are older than their sources.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/pinned-node.mjs'
import { which } from '../../scripts/toolchain.mjs'
import { GENERATED, writeKernelHeader } from '../tools/kernel-table.mjs'
import {
  ABI_DEFINE,
  engineSources,
  FORM_DEFINES,
  FORMS_OF_BUILD,
  filesIn,
  formsOf,
  OPS,
  sourcesIn,
} from '../tools/sources.mjs'

const run = promisify(execFile)

const SANITIZERS = [
  '-fsanitize=address,undefined,float-cast-overflow',
  '-fno-sanitize-recover=all',
  // Frames stay on the real stack, because kernels store addresses of their frames in 32-bit words.
  '-fsanitize-address-use-after-return=never',
  '-fno-omit-frame-pointer',
  '-g1',
]
const COMPILE = ['-std=gnu17', '-O1', '-ffp-contract=off', '-fno-math-errno', '-Wall', '-Wextra', '-Werror']
const MACHINE = process.arch === 'x64' ? ['-msse4.2'] : []
/** The program itself is below 4 GiB, after the memory that host.c maps. */
const LINK = ['-no-pie', '-Wl,-Ttext-segment=0x40000000', '-lm', '-pthread']
/** `export_name` has no meaning here. */
const QUIET = ['-Wno-unknown-attributes']

const modified = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0)

const tool = async (command, args) => {
  try {
    await run(command, args, { maxBuffer: 1 << 24 })
  } catch (error) {
    throw new Error(`${command} ${args.join(' ')}\n${error.stderr || error.message}`)
  }
}

/**
 * Builds what is out of date. Returns how many objects and programs it built. Throws with the compiler's
 * output.
 */
export const buildNative = async () => {
  const clang = which('clang-19')
  if (clang === undefined) throw new Error('clang-19 is missing; run "npm run setup simde"')
  const headers = filesIn().filter((path) => path.endsWith('.h') || path.endsWith('.mjs'))
  const shared = Math.max(...[...headers, writeKernelHeader(), OPS].map(modified))
  const compiles = []
  const links = []
  for (const isa of ['relaxed', 'simd128']) {
    const folder = join(root, 'build/native', isa)
    mkdirSync(folder, { recursive: true })
    const isRelaxed = isa === 'relaxed'
    const jobs = [...engineSources(), ...sourcesIn('testing'), ...sourcesIn('native')].flatMap((source) =>
      formsOf(source)
        .filter((form) => FORMS_OF_BUILD[isa].includes(form))
        .map((form) => ({
          source,
          object: join(folder, `${basename(source)}-${form}.o`),
          defines: FORM_DEFINES[form],
        })),
    )
    for (const { source, object, defines } of jobs) {
      if (modified(object) >= Math.max(modified(source), shared)) continue
      const isaFlags = isRelaxed ? ['-D__wasm_relaxed_simd__'] : []
      const args = [...COMPILE, ...QUIET, ...MACHINE, ...SANITIZERS, ...isaFlags, ...defines, ABI_DEFINE]
      const includes = ['-I', join(root, 'wasm/native'), '-I', join(root, 'wasm'), '-I', GENERATED]
      compiles.push(() => tool(clang, [...args, ...includes, '-c', source, '-o', object]))
    }
    const program = join(root, 'build/native', `halfbyte-${isa}`)
    links.push({ program, objects: jobs.map(({ object }) => object) })
  }
  const waiting = [...compiles]
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job()
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), 8) }, work))
  const stale = links.filter(({ program, objects }) => modified(program) < Math.max(...objects.map(modified)))
  for (const { program, objects } of stale) {
    await tool(clang, [...SANITIZERS, ...LINK, ...objects, '-o', program])
  }
  return { objects: compiles.length, programs: stale.length }
}
