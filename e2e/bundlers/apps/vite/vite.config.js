// Headers that isolate the page, so that threads share memory; it also runs without them.
const headers =
  process.env.ISOLATION === 'on'
    ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
    : {}

export default {
  optimizeDeps: { exclude: ['halfbyte'] },
  server: { headers, watch: null },
  ...(process.env.NETWORKS === 'on' && { worker: { format: 'es' } }),
}
