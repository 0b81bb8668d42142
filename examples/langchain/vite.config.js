import { defineConfig } from 'vite'

// With these headers a page may have threads that share memory. Your own server has to send them, too.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

export default defineConfig({
  // Vite's dev optimiser moves the package away from its workers.
  optimizeDeps: { exclude: ['halfbyte'] },
  server: { headers },
  preview: { headers },
})
