import { cp } from 'node:fs/promises'
import webpack from 'webpack'
import { config, here } from './config.js'

webpack({ ...config, mode: 'production' }, async (error, stats) => {
  if (error) throw error
  if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString())
  await cp(here('./index.html'), here('./dist/index.html'))
})
