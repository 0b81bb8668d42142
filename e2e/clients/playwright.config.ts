// In: e2e/clients/*.client.ts. Out: the runs of npm run test:clients in Chromium.
import { defineConfig } from '@playwright/test'
import { chromiumOptions } from '../chromium.ts'

export default defineConfig({
  testDir: '.',
  testMatch: '*.client.ts',
  outputDir: '../../build/test-results/clients',
  timeout: 120_000,
  workers: 1,
  reporter: [['list']],
  use: { serviceWorkers: 'block', launchOptions: chromiumOptions() },
})
