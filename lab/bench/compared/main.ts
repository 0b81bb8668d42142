// npm run bench:compared measures what a page with each library downloads before its model. It unpacks exact
// versions from the npm registry, builds a small application with each using Vite, and prints gzipped sizes.
// --docs writes them into docs/compared.md. It needs the network, tar and a preceding npm run build.
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { Command } from 'commander'
import { build, type Rolldown } from 'vite'
import { replaceBetweenMarkers } from '../perf/docs.ts'
import { nameAndVersion, PEERS, type Peer } from './peers.ts'
import { unpack } from './unpack.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const WORK = join(ROOT, 'build/bench/compared')
const PAGE = join(ROOT, 'docs/compared.md')
const COMMAND = 'npm run bench:compared -- --docs'

const { docs } = new Command('bench:compared')
  .description(
    'What a page with Halfbyte, wllama, transformers.js or web-llm downloads before its model, gzipped.',
  )
  .option('--docs', 'write the table into docs/compared.md')
  .parse()
  .opts<{ docs?: true }>()

const gzipped = (bytes: string | Uint8Array) => gzipSync(bytes, { level: 9 }).length

/** The scripts that Vite writes for an application with the library. */
async function scriptsOf(peer: Peer, app: string): Promise<Map<string, string | Uint8Array>> {
  writeFileSync(join(app, 'entry.js'), peer.entry)
  const result = (await build({
    root: app,
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: { input: join(app, 'entry.js') },
    },
  })) as Rolldown.RolldownOutput
  const files = result.output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source])
  return new Map(files as [string, string | Uint8Array][])
}

/** Megabytes from 1 MB up, otherwise kilobytes. */
const size = (bytes: number) =>
  bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(2)} MB`

async function rowOf(peer: Peer): Promise<string> {
  const app = join(WORK, peer.name.replaceAll(/\W/g, '-'))
  const modules = join(app, 'node_modules')
  mkdirSync(modules, { recursive: true })
  if (peer.packages.length === 0) symlinkSync(ROOT, join(modules, 'halfbyte'))
  for (const spec of peer.packages) unpack(spec, modules)
  const wanted = peer.scripts ?? /\.m?js$/
  const scripts = [...(await scriptsOf(peer, app))].filter(
    ([name]) => /\.m?js$/.test(name) && wanted.test(name),
  )
  const own = scripts.reduce((sum, [, code]) => sum + gzipped(code), 0)
  const wasm = peer.modules.map(
    ({ path, where }) => `${size(gzipped(readFileSync(join(modules, path))))} (${where})`,
  )
  const [first] = peer.packages
  const version =
    first === undefined
      ? (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version
      : nameAndVersion(first).version
  return `| ${peer.name} ${version} | ${size(own)} | ${wasm.join(', ') || 'one per model, not in the package'} |`
}

rmSync(WORK, { recursive: true, force: true })
mkdirSync(WORK, { recursive: true })
const rows: string[] = []
for (const peer of PEERS) rows.push(await rowOf(peer))
const table = ['| library | JavaScript | WebAssembly, one of |', '|---|--:|---|', ...rows].join('\n')
console.log(table)
if (docs) writeFileSync(PAGE, replaceBetweenMarkers(readFileSync(PAGE, 'utf8'), table, COMMAND))
