// In: the test files beside the code. Out: vitest projects: unit (src, wasm, scripts, fuzz), conformance (the
// fixtures), engines (the built page in this machine's browsers) and sanitizers (the kernels' tests, of
// kernels that scripts/test/sanitizers.mjs builds).
import { defineConfig } from 'vitest/config'

const shared = {
  environment: 'node',
  setupFiles: ['scripts/test/property-seed.ts', 'scripts/test/restore-globals.ts'],
  // They end a test that hangs. A slow machine must not meet them: what a test bounds, it bounds in steps.
  testTimeout: 300_000,
  hookTimeout: 300_000,
}

export default defineConfig({
  test: {
    // Two cores are the machine this is sized for; each test file may start threads of its own.
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          // A process runs one file after another, so that it reads and compiles what they import once.
          isolate: false,
          include: ['{src,wasm,scripts,demo,workers,bench,test/fuzz,train}/**/*.test.ts'],
          exclude: ['wasm/native/**'],
        },
      },
      {
        test: {
          ...shared,
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'sanitizers',
          // run.test.ts is of threads that share a memory: those of WebAssembly.
          include: ['wasm/**/*.test.ts', 'src/generate/sampler/logit-rows.test.ts'],
          exclude: ['wasm/core/run.test.ts'],
          env: { HALFBYTE_KERNELS: 'native' },
        },
      },
      {
        test: { ...shared, name: 'engines', include: ['e2e/engines/*.smoke.ts'] },
      },
    ],
  },
})
