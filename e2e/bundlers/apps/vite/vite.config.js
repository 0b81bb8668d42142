// Headers that isolate the page, so that threads share memory; without them it runs too.
const headers =
  process.env.ISOLATION === 'on'
    ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
    : {}

export default {
  optimizeDeps: { exclude: ['halfbyte'] },
  server: { headers, watch: null },
  ...(process.env.NETWORKS === 'on' && { worker: { format: 'es' } }),
}
