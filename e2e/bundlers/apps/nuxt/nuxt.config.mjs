const headers =
  process.env.ISOLATION === 'on'
    ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
    : {}

export default {
  compatibilityDate: '2026-11-01',
  telemetry: false,
  routeRules: { '/**': { headers } },
  vite: { optimizeDeps: { exclude: ['halfbyte'] }, server: { headers } },
}
