import { cp } from 'node:fs/promises'
import resolve from '@rollup/plugin-node-resolve'

export default {
  input: 'main.js',
  output: { dir: 'dist', entryFileNames: 'main.js' },
  plugins: [
    resolve(),
    {
      name: 'copy',
      // Rollup leaves `new Worker(new URL(...))` unchanged, so the files must be next to the bundle.
      async writeBundle() {
        await cp('index.html', 'dist/index.html')
        for (const folder of ['workers', 'wasm', 'readers']) {
          await cp(`node_modules/halfbyte/dist/cdn/${folder}`, `dist/${folder}`, { recursive: true })
        }
      },
    },
  ],
}
