// Package checkers. In: the tarball. Out: what the commands attw and publint report. scripts/package.test.ts
// runs the same libraries at each change.
import { fileURLToPath } from 'node:url'
import { packedTest as test } from '../packed/test.ts'
import { runBundler } from './app-folder.ts'

const COMMANDS = {
  attw: ['@arethetypeswrong/cli/dist/index.js', '--profile', 'esm-only'],
  publint: ['publint/src/cli.js', '--strict'],
}

for (const [name, [script, ...options]] of Object.entries(COMMANDS)) {
  test(`${name} accepts the tarball`, async ({ packed }) => {
    const path = fileURLToPath(new URL(`node_modules/${script}`, import.meta.url))
    await runBundler(packed.folder, [path, packed.tarball, ...options])
  })
}
