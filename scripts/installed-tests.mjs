// Installs the packages of a test folder and runs its tests.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { requirePinnedNode, root } from './pinned-node.mjs'

requirePinnedNode()

const run = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}

/** Passes the command's arguments on to Playwright. */
export function testInstalled(name) {
  const folder = join(root, name)
  run('npm', ['ci', '--ignore-scripts'], folder)
  run(join(root, 'node_modules/.bin/playwright'), ['test', '-c', folder, ...process.argv.slice(2)], root)
}
