import webpack from 'webpack'
import Server from 'webpack-dev-server'
import { config, here } from './config.js'

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}
const options = {
  host: '127.0.0.1',
  port: process.argv[2],
  static: { directory: here('.'), watch: false },
  headers: process.env.ISOLATION === 'on' ? isolation : {},
}
await new Server(options, webpack({ ...config, mode: 'development' })).start()
