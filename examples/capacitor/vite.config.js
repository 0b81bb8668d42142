import { defineConfig } from 'vite'

// Vite's dev optimiser moves the package away from its workers.
export default defineConfig({ optimizeDeps: { exclude: ['halfbyte'] } })
