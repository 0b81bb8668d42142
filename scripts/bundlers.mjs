// In: e2e/bundlers and a built dist. Out: its bundlers, installed, and the runs of its tests.
//
// npm run test:bundlers -- -g "Next.js" runs those whose title has the words. They are no part of npm test:
// the bundlers take 600 MB, and the runs some minutes.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { requirePinnedNode, root } from './pinned-node.mjs'

requirePinnedNode()

const folder = join(root, 'e2e/bundlers')
const run = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}

run('npm', ['ci', '--ignore-scripts'], folder)
run(join(root, 'node_modules/.bin/playwright'), ['test', '-c', folder, ...process.argv.slice(2)], root)
