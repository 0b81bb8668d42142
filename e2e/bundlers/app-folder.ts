// App folders. In: an app in apps/ or an example, and the unpacked package. Out: a folder like a user's
// project, in which the bundler can run.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { appendFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { PackedApp } from '../packed/app.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const DEPENDENCIES = ['@huggingface/tokenizers', 'comlink']

interface AppOptions {
  /** Default: false. */
  readonly hasNetworks?: boolean
  /** The workspace with the bundler. Default: this folder. */
  readonly workspace?: string
}

/** An app of the matrix, with the code that all apps share. */
export async function appFolder(
  name: string,
  app: string,
  packed: PackedApp,
  { hasNetworks = false, workspace = '.' }: AppOptions = {},
): Promise<string> {
  const folder = await installed(here(`apps/${app}`), name, packed, workspace)
  for (const file of ['main.js', 'networks.js', 'index.html'])
    await cp(here(`apps/${file}`), join(folder, file))
  if (hasNetworks) await appendFile(join(folder, 'main.js'), "\nimport './networks.js'\n")
  const settings = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}')
  const manifest = { name: 'app', version: '1.0.0', private: true, type: 'module', ...JSON.parse(settings) }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  return folder
}

/** An example, unchanged. */
export const exampleFolder = (name: string, packed: PackedApp): Promise<string> =>
  installed(here(`../../examples/${name}`), `example-${name}`, packed)

/**
 * A fresh copy below a workspace's build/, where Node finds its node_modules. The package is copied, not
 * linked.
 */
async function installed(source: string, name: string, packed: PackedApp, workspace = '.'): Promise<string> {
  const folder = here(`${workspace}/build/${name.toLowerCase().replaceAll(/\W+/g, '-')}`)
  await rm(folder, { recursive: true, force: true })
  // Excludes everything that has been installed or built in an example.
  const isSource = (path: string) => !/[\\/](?:node_modules|dist|public|\.next|android|ios)$/.test(path)
  await cp(source, folder, { recursive: true, filter: isSource })
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  await cp(packed.installed, join(modules, 'halfbyte'), { recursive: true })
  for (const dependency of DEPENDENCIES) {
    await cp(here(`../../node_modules/${dependency}`), join(modules, dependency), { recursive: true })
  }
  return folder
}

const QUIET = {
  ASTRO_TELEMETRY_DISABLED: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  NUXT_TELEMETRY_DISABLED: '1',
  PARCEL_TELEMETRY_DISABLED: '1',
  NODE_ENV: undefined,
  CI: '1',
}

/** Runs the bundler to completion. If it fails or times out, throws with all its output. */
export async function runBundler(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const options = { cwd: folder, env: { ...process.env, ...QUIET, ...env }, timeout: 300_000 }
  await promisify(execFile)(process.execPath, [...args], options).catch(({ message, stdout, stderr }) => {
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  })
}

/** A search path on which `node` and `npm` are those of this process. */
export const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter)

/** Runs a script of the folder's package.json with this process's Node. */
export async function runScript(folder: string, script: string): Promise<void> {
  const env = { ...process.env, ...QUIET, PATH }
  const options = { cwd: folder, env, timeout: 300_000, shell: process.platform === 'win32' }
  await promisify(execFile)('npm', ['run', script], options).catch(({ message, stdout, stderr }) => {
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  })
}

/** Starts the bundler's server and waits for its page. */
export async function startServer(
  folder: string,
  args: readonly string[],
  port: number,
  isolation: 'on' | 'off',
  env: Readonly<Record<string, string>> = {},
): Promise<{ address: string; close(): Promise<void> }> {
  const child = spawn(
    process.execPath,
    args.map((arg) => (arg === 'PORT' ? String(port) : arg)),
    {
      cwd: folder,
      env: { ...process.env, ...QUIET, DEV: '1', ISOLATION: isolation, ...env },
      detached: true,
    },
  )
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text))
  const address = `http://127.0.0.1:${port}/`
  const deadline = Date.now() + 60_000
  while (!(await answers(address))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await end(child)
      throw new Error(`the server does not answer\n${printed}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  return { address, close: () => end(child) }
}

const answers = (address: string) =>
  fetch(address).then(
    ({ ok }) => ok,
    () => false,
  )

/** A dev server may have child processes, which belong to its process group. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  process.kill(-child.pid, 'SIGTERM')
  const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), 5000)
  await ended
  clearTimeout(timer)
}
