import { reactRouter } from '@react-router/dev/vite'

const headers =
  process.env.ISOLATION === 'on'
    ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
    : {}

export default {
  plugins: [reactRouter()],
  optimizeDeps: { exclude: ['halfbyte'] },
  server: { headers },
}
