// Builds the chat page, also in a fresh clone, serves it with COOP and COEP, and prints its address.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { requirePinnedNode, root } from './pinned-node.mjs'
import { setUp } from './setup.mjs'

requirePinnedNode()
if (setUp(['emscripten']).length > 0) process.exit(1)

const built = spawnSync(process.execPath, ['scripts/build.mjs', 'demo'], { cwd: root, stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

const hasDesktop =
  process.platform === 'darwin' ||
  process.platform === 'win32' ||
  process.env.DISPLAY !== undefined ||
  process.env.WAYLAND_DISPLAY !== undefined
const open = hasDesktop && process.env.CI === undefined ? ['--open'] : []
const vite = join(root, 'node_modules/vite/bin/vite.js')
const args = [vite, 'preview', '--config', 'demo/vite.config.ts', ...open, ...process.argv.slice(2)]
const server = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal))
server.on('exit', (code) => process.exit(code ?? 0))
