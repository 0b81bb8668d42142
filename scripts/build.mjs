// Builds dist/ (wasm, JavaScript, types, and the embedded models with their cards) and build/demo (the chat
// page).
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { buildCdn, buildReaders } from './cdn.mjs'
import { forgetPackages, writeNotices } from './package/notices.mjs'
import { requirePinnedNode, root } from './pinned-node.mjs'
import { bundleTypes, cleanDeclarations } from './types.mjs'

requirePinnedNode()

const bin = (name) => join(root, 'node_modules/.bin', name)

const step = (name, command, args) => {
  const start = performance.now()
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) {
    console.error(`build: ${name} failed`)
    process.exit(status ?? 1)
  }
  console.log(`build: ${name} ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

/** Empties dist except for the wasm modules, which are built incrementally, and the readers. */
const cleanLibrary = () => {
  const dist = join(root, 'dist')
  for (const name of existsSync(dist) ? readdirSync(dist) : []) {
    if (!['wasm', 'solve', 'readers'].includes(name)) rmSync(join(dist, name), { recursive: true })
  }
}

/** Copies the packs with their cards, because licence and credits belong with the weights. */
const copyModels = () => {
  const models = join(root, 'demo/models')
  const names = existsSync(models) ? readdirSync(models) : []
  for (const name of names.filter((name) => /\.(hbm|md)$/.test(name))) {
    cpSync(join(models, name), join(root, 'dist/models', name))
  }
}

/** The widget's descriptions for editors and frameworks are written by hand. */
const copyWidgetTypes = () => {
  const widget = join(root, 'src/ui/widget')
  const to = join(root, 'dist/widget')
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(join(widget, 'frameworks'))) {
    const text = readFileSync(join(widget, 'frameworks', name), 'utf8')
    writeFileSync(join(to, name), text.replace("'../element.ts'", "'../widget.js'"))
  }
  cpSync(join(widget, 'custom-elements.json'), join(root, 'dist/custom-elements.json'))
}

/**
 * Copies the launcher unchanged, because a build would emit newer syntax. npm marks bins executable when it
 * installs them, but this one also runs in place.
 */
const copyLauncher = () => {
  const path = join(root, 'dist/cli.js')
  cpSync(join(root, 'src/tools/cli/launch.js'), path)
  chmodSync(path, 0o755)
}

/** The JPEG decoder outside browsers. */
const copyTurboJpeg = () =>
  cpSync(join(root, 'node_modules/@cwasm/jpeg-turbo/jpeg-turbo.wasm'), join(root, 'dist/jpeg-turbo.wasm'))

/** The Python programs that `halfbyte tune` starts. */
const copyTrainer = () => {
  const from = join(root, 'src/tools/tune/trainer')
  for (const name of readdirSync(from).filter((name) => name.endsWith('.py')))
    cpSync(join(from, name), join(root, 'dist/trainer', name))
}

const PARTS = ['library', 'demo']
const asked = process.argv.slice(2)
const unknown = asked.find((part) => !PARTS.includes(part))
if (unknown !== undefined) {
  console.error(`build: ${unknown} is not a part; use ${PARTS.join(' or ')}, or no argument for both`)
  process.exit(1)
}
const wants = (part) => asked.length === 0 || asked.includes(part)

step('wasm', process.execPath, ['wasm/tools/build.mjs'])
if (wants('library')) forgetPackages()
await buildReaders()
if (wants('library')) {
  cleanLibrary()
  step('library', bin('vite'), ['build', '--logLevel', 'warn'])
  cleanDeclarations()
  step('types', bin('tsc'), ['-p', 'tsconfig.build.json'])
  await bundleTypes()
  copyWidgetTypes()
  copyModels()
  copyLauncher()
  copyTurboJpeg()
  copyTrainer()
  await buildCdn()
  writeNotices(join(root, 'dist/THIRD_PARTY_NOTICES.md'))
}
if (wants('demo'))
  step('demo', bin('vite'), ['build', '--config', 'demo/vite.config.ts', '--logLevel', 'warn'])
