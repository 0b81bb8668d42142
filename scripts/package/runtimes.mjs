// Downloads Bun and Deno, in the versions that the tests run, from the npm registry into .cache/. npm
// verifies the downloads. Nothing is installed elsewhere, and no package scripts run.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../pinned-node.mjs'

const EXTENSION = process.platform === 'win32' ? '.exe' : ''
const ARM = process.arch === 'arm64'
const NAMES = { linux: 'linux', darwin: 'darwin', win32: 'windows' }

/** Each runtime: its version, the package for this system, and the program inside it. */
export const RUNTIMES = {
  bun: {
    version: '1.4.5',
    package: `@oven/bun-${NAMES[process.platform]}-${ARM ? 'aarch64' : 'x64'}`,
    program: `bin/bun${EXTENSION}`,
    /** Arguments before a script's name. */
    args: [],
  },
  deno: {
    version: '2.9.6',
    package: `@deno/${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`,
    program: `deno${EXTENSION}`,
    args: [
      'run',
      '--quiet',
      '--allow-read',
      '--allow-env',
      '--allow-sys',
      '--no-lock',
      '--node-modules-dir=manual',
    ],
  },
}

const folderOf = (name) => join(root, '.cache', `${name}-${RUNTIMES[name].version}`)
const programOf = (name) =>
  join(folderOf(name), 'node_modules', RUNTIMES[name].package, RUNTIMES[name].program)

/** The command and its first arguments, or undefined if the runtime was not downloaded. */
export const runtimeCommand = (name) =>
  existsSync(programOf(name)) ? [programOf(name), ...RUNTIMES[name].args] : undefined

/** Downloads a runtime. Returns whether it is available. */
export const fetchRuntime = (name) => {
  if (existsSync(programOf(name))) return true
  const { package: spec, version } = RUNTIMES[name]
  const draft = `${folderOf(name)}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  writeFileSync(join(draft, 'package.json'), '{ "private": true }\n')
  console.log(`setup: fetching ${spec} ${version}`)
  const args = [
    'install',
    `${spec}@${version}`,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
  ]
  const { status } = spawnSync('npm', args, {
    cwd: draft,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) {
    rmSync(draft, { recursive: true })
    return false
  }
  rmSync(folderOf(name), { recursive: true, force: true })
  renameSync(draft, folderOf(name))
  return existsSync(programOf(name))
}
