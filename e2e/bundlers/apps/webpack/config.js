import { fileURLToPath } from 'node:url'

export const here = (path) => fileURLToPath(new URL(path, import.meta.url))

export const config = {
  context: here('.'),
  entry: './main.js',
  output: { path: here('./dist'), filename: 'main.js' },
  // The engine exceeds the size at which webpack warns.
  performance: { hints: false },
}
