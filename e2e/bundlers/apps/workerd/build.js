// Bundles the worker with the conditions that Wrangler sets, and writes workerd's configuration.
import { writeFile } from 'node:fs/promises'
import { build } from 'esbuild'

await build({
  entryPoints: ['worker.js'],
  bundle: true,
  format: 'esm',
  conditions: ['workerd', 'worker', 'browser'],
  outdir: 'dist',
})
const [, , port] = process.argv
await writeFile(
  'config.capnp',
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker", esModule = embed "dist/worker.js")],
    compatibilityDate = "2026-11-01",
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`,
)
