import adapter from '@sveltejs/adapter-static'
import { sveltekit } from '@sveltejs/kit/vite'

const headers =
  process.env.ISOLATION === 'on'
    ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
    : {}

export default {
  plugins: [sveltekit({ adapter: adapter() })],
  optimizeDeps: { exclude: ['halfbyte'] },
  server: { headers },
}
