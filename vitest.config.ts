// In: the test files beside the code. Out: vitest projects: unit (src, wasm, scripts, fuzz), conformance
// (other implementations' results, in test/fixtures and golden/), long (the slowest of both), fetched (real
// models and data downloaded by npm run setup), python (other implementations that run in Python), engines
// (the built page in this machine's browsers) and sanitizers (the kernels' tests, with kernels built by
// scripts/test/sanitizers.mjs).
import { defineConfig } from 'vitest/config'

/** Tests that need data downloaded by npm run setup; they fail without it. */
const FETCHED = '**/*.fetched.test.ts'
/** Tests that start Python, and are skipped if it or a module is missing. */
const PYTHON = '**/*.python.test.ts'

/**
 * Tests that are slow relative to what they catch before a change: those that start the command, compress
 * models or write graphs like exporters. `npm run test:all` runs them; `npm run test:unit -- FOLDER` does
 * too. So does the test of leaks, which collects all garbage: in a process that has run other files, that
 * takes ten times as long.
 */
const LONG = [
  'src/engine/api/leaks.test.ts',
  'src/tools/cli/commands/{prune,quantize,resume}.test.ts',
  'src/tools/cli/compress/**/*.test.ts',
  'lab/bench/**/*.test.ts',
  'scripts/make/**/*.test.ts',
  'scripts/package/{audit,runtimes,guide/shell}.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/conformance/{compress,onnx/control,pools,transformers}/**/*.test.ts',
  'test/conformance/{matrix,families,random-models,transformers}.test.ts',
]

/**
 * Tests must not store downloads in the user's home folder. Progress lines depend on the machine's speed.
 */
const env = { HALFBYTE_NO_STORE: '1', HALFBYTE_QUIET: '1' }

/**
 * V8 has a race between threads that optimise their calls from WebAssembly to JavaScript: about one run in
 * twenty of the tests that start workers crashed in `TierUpWasmToJSWrapper` (Node 24). The engine has no such
 * calls. Node's TypeScript loader has, and every worker starts one.
 */
const execArgv = ['--wasm-wrapper-tiering-budget=1000000000']

const shared = {
  environment: 'node',
  env,
  execArgv,
  setupFiles: ['property-seed', 'restore-globals', 'rare-families'].map((name) => `scripts/test/${name}.ts`),
  // Timeouts for tests that hang. They must not be reached on a slow machine: tests bound work in steps, not
  // time.
  testTimeout: 300_000,
  hookTimeout: 300_000,
}

export default defineConfig({
  test: {
    // Sized for a machine with two cores; each test file may start threads of its own.
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          // A process runs one file after another, so that shared imports are read and compiled once.
          isolate: false,
          include: ['{src,wasm,scripts,demo,workers,lab,test/fuzz}/**/*.test.ts'],
          exclude: ['wasm/native/**', FETCHED, ...LONG],
        },
      },
      {
        test: {
          ...shared,
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          exclude: [FETCHED, PYTHON, ...LONG],
        },
      },
      {
        test: { ...shared, name: 'long', include: LONG, exclude: [FETCHED, PYTHON] },
      },
      {
        test: { ...shared, name: 'fetched', include: [`{src,test}/${FETCHED}`] },
      },
      {
        test: { ...shared, name: 'python', include: [`test/${PYTHON}`] },
      },
      {
        test: {
          ...shared,
          name: 'sanitizers',
          // run.test.ts needs threads that share memory, which native kernels do not support.
          include: ['wasm/**/*.test.ts', 'src/core/generate/sampler/logit-rows.test.ts'],
          exclude: ['wasm/core/run.test.ts'],
          env: { ...env, HALFBYTE_KERNELS: 'native' },
        },
      },
      {
        test: { ...shared, name: 'engines', include: ['e2e/engines/*.smoke.ts'] },
      },
    ],
  },
})
