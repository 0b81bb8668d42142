import { cp } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import webpack from 'webpack'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

const config = {
  mode: 'production',
  context: here('.'),
  entry: './main.js',
  output: { path: here('./dist'), filename: 'main.js' },
  // The engine is larger than what webpack warns of.
  performance: { hints: false },
}

webpack(config, async (error, stats) => {
  if (error) throw error
  if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString())
  await cp(here('./index.html'), here('./dist/index.html'))
})
