// In: the site that npm run site has built. Out: runs of its test in Chromium, on a phone's and a desktop's
// screen.
import { defineConfig } from '@playwright/test'
import { chromiumOptions } from '../../e2e/chromium.ts'

const PORT = Number(process.env.HALFBYTE_PORT ?? 4175)

export default defineConfig({
  testDir: '.',
  testMatch: '*.spec.ts',
  outputDir: '../../build/test-results/site',
  timeout: 120_000,
  expect: { timeout: 30_000 },
  workers: 1,
  reporter: [['list']],
  webServer: {
    // VitePress' preview compresses a model anew for each range, which takes most of a minute.
    command: `node ../../e2e/page-server.ts ${PORT} off site`,
    url: `http://127.0.0.1:${PORT}/`,
    reuseExistingServer: false,
  },
  use: { baseURL: `http://127.0.0.1:${PORT}/`, launchOptions: chromiumOptions() },
  projects: [
    { name: 'phone', use: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true } },
    { name: 'desktop', use: { viewport: { width: 1280, height: 800 } } },
  ],
})
