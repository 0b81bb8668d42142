// In: e2e/bundlers/*.bundler.ts. Out: the runs of npm run test:bundlers in Chromium.
import { defineConfig } from '@playwright/test'
import { chromiumOptions } from '../chromium.ts'

export default defineConfig({
  testDir: '.',
  testMatch: '*.bundler.ts',
  outputDir: '../../build/test-results/bundlers',
  timeout: 400_000,
  workers: 1,
  reporter: [['list']],
  use: { serviceWorkers: 'block', launchOptions: chromiumOptions() },
})
