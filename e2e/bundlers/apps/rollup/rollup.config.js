import { cp } from 'node:fs/promises'
import resolve from '@rollup/plugin-node-resolve'

export default {
  input: 'main.js',
  output: { dir: 'dist', entryFileNames: 'bundle.js' },
  plugins: [
    resolve(),
    {
      name: 'copy',
      // Rollup leaves `new Worker(new URL(...))` as it is, so the files must lie beside the bundle.
      async writeBundle() {
        await cp('static', 'dist', { recursive: true })
        for (const folder of ['workers', 'wasm']) {
          await cp(`node_modules/halfbyte/dist/cdn/${folder}`, `dist/${folder}`, { recursive: true })
        }
      },
    },
  ],
}
