import { cp } from 'node:fs/promises'
import { build } from 'esbuild'

await build({ entryPoints: ['main.js'], bundle: true, minify: true, format: 'esm', outdir: 'dist' })
await cp('index.html', 'dist/index.html')
// esbuild leaves `new Worker(new URL(...))` unchanged, so the files must be next to the bundle.
for (const folder of ['workers', 'wasm', 'readers']) {
  await cp(`node_modules/halfbyte/dist/cdn/${folder}`, `dist/${folder}`, { recursive: true })
}
