// Starts a script again under the Node that package.json pins, if an older Node (20 or newer) started it.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const pinned = join(root, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node')
const isNew = (version) => Number(version.replace(/^v/, '').split('.')[0]) >= 22

const versionOf = (path) => {
  try {
    return existsSync(path) ? execFileSync(path, ['--version'], { encoding: 'utf8' }).trim() : undefined
  } catch {
    return undefined
  }
}

/**
 * Restarts the running script under the pinned Node if this one is older than 22, and then never returns.
 */
export const requirePinnedNode = () => {
  process.env.PATH = `${join(root, 'node_modules/.bin')}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH}`
  if (isNew(process.version)) return
  if (versionOf(pinned) === undefined) {
    // npm may be configured to skip install scripts, but the node package needs one to unpack its binary.
    console.log('setup: unpacking the pinned Node')
    spawnSync('npm', ['rebuild', 'node'], { cwd: root, stdio: 'inherit' })
  }
  const version = versionOf(pinned)
  if (version === undefined || !isNew(version)) {
    console.error(
      `this project needs Node 22 or newer, but this is ${process.version}; ` +
        'run "npm rebuild node --ignore-scripts=false" or install a newer Node',
    )
    process.exit(1)
  }
  process.env.PATH = `${dirname(pinned)}:${process.env.PATH}`
  const { status } = spawnSync(pinned, process.argv.slice(1), { stdio: 'inherit' })
  process.exit(status ?? 1)
}
