// In: e2e/*.spec.ts and the built page in build/demo. Out: the tests' runs in Chromium, as a phone and as a
// desktop, and in `timed` those of the phone that need the machine to themselves.
import { defineConfig } from '@playwright/test'
import { chromiumOptions } from './e2e/chromium.ts'

const port = Number(process.env.HALFBYTE_PORT ?? 4173)

const serve = (at: number, isolation: 'on' | 'off') => ({
  command: `npx vite preview --config demo/vite.config.ts --host 127.0.0.1 --port ${at} --strictPort`,
  url: `http://127.0.0.1:${at}/`,
  env: { HALFBYTE_ISOLATION: isolation },
  reuseExistingServer: false,
  timeout: 60_000,
})

/**
 * What these measure or wait for is wrong when other tests take the processor; `npm test` runs them alone.
 */
const TIMED = [
  'chat/{chat-long,chat-responsive,shell/chat-opening}.spec.ts',
  'store/refused-requests.spec.ts',
  'faults/killed-workers.spec.ts',
  '{perf,pools,roofline,unload}.spec.ts',
].map((path) => `**/e2e/${path}`)

const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }

export default defineConfig({
  testDir: 'e2e',
  // Unit tests of the perf suite lie there too.
  testMatch: '**/*.spec.ts',
  outputDir: 'build/test-results',
  timeout: 120_000,
  workers: 1,
  forbidOnly: process.env.CI !== undefined,
  reporter: [['list']],
  // The second server sends no COOP and COEP: specs reach it as port + 1.
  webServer: [serve(port, 'on'), serve(port + 1, 'off')],
  use: {
    baseURL: `http://127.0.0.1:${port}/`,
    // Recording every test takes a third of their time; `--trace on` records one that is looked into.
    trace: 'off',
    // What a worker keeps would hide what the server says; the offline specs allow it.
    serviceWorkers: 'block',
    launchOptions: chromiumOptions(),
  },
  projects: [
    { name: 'phone', use: PHONE, testIgnore: ['**/*.desktop.spec.ts', ...TIMED] },
    { name: 'desktop', use: { viewport: { width: 1280, height: 800 } }, testMatch: '**/*.desktop.spec.ts' },
    { name: 'timed', use: PHONE, testMatch: TIMED },
  ],
})
