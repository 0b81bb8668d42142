const headers =
  process.env.ISOLATION === 'on'
    ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
    : {}

export default {
  server: { headers },
  vite: { optimizeDeps: { exclude: ['halfbyte'] } },
}
