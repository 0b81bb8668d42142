import { fileURLToPath } from 'node:url'

const isolation = [
  { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
  { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
]

export default {
  // The folder with package-lock.json, here two levels up.
  turbopack: { root: fileURLToPath(new URL('../..', import.meta.url)) },
  ...(process.env.DEV === undefined && { output: 'export' }),
  ...(process.env.ISOLATION === 'on' && { headers: () => [{ source: '/(.*)', headers: isolation }] }),
}
