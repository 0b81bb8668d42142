// Runs the specs of e2e in Chromium, as a phone and as a desktop. The project `timed` has specs that need the
// machine to themselves, `models` those with real models.
import { defineConfig } from '@playwright/test'
import { chromiumOptions } from './e2e/chromium.ts'

const port = Number(process.env.HALFBYTE_PORT ?? 4173)
// Node programs in tests must not store downloads in the user's home folder.
process.env.HALFBYTE_NO_STORE = '1'

const serve = (at: number, isolation: 'on' | 'off') => ({
  command: `node e2e/page-server.ts ${at} ${isolation}`,
  url: `http://127.0.0.1:${at}/`,
  reuseExistingServer: false,
  timeout: 60_000,
})

/** Specs whose measurements or waits go wrong if other tests use the CPU; `npm test` runs them alone. */
const TIMED = [
  'chat/{chat-long,chat-responsive,shell/chat-opening}.spec.ts',
  'store/refused-requests.spec.ts',
  'faults/killed-workers.spec.ts',
  '{perf,pools,roofline,unload}.spec.ts',
].map((path) => `**/e2e/${path}`)

/** The main specs for checking a change; `npm test` runs these, `npm run test:all` the others too. */
const MAIN = [
  'chat/{chat,chat-accessibility,shell/chat-first-visit}.spec.ts',
  'cdn/cdn.spec.ts',
  'faults/failures.spec.ts',
  'networks/networks.spec.ts',
  'start/first-page.spec.ts',
  'store/store.spec.ts',
  'widget/widget.spec.ts',
  'content-security.spec.ts',
  'library/{greedy,sampling}.spec.ts',
].map((path) => `**/e2e/${path}`)

/** Chats with real models, which npm run setup downloads. */
const MODELS = '**/e2e/chat/chat-real.spec.ts'
const DESKTOP = '**/*.desktop.spec.ts'

const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }

export default defineConfig({
  testDir: 'e2e',
  // Unit tests of the perf suite are in that folder too.
  testMatch: '**/*.spec.ts',
  outputDir: 'build/test-results',
  // These end waits that hang. On a busy machine, tests that take 20 seconds alone have taken two minutes.
  timeout: 300_000,
  expect: { timeout: 90_000 },
  workers: 1,
  forbidOnly: process.env.CI !== undefined,
  reporter: [['list']],
  // The second server sends no COOP and COEP: specs reach it as port + 1.
  webServer: [serve(port, 'on'), serve(port + 1, 'off')],
  use: {
    baseURL: `http://127.0.0.1:${port}/`,
    // Recording every test takes a third of their time; use `--trace on` to investigate one.
    trace: 'off',
    // A service worker's cache would hide the server's answers; the offline specs allow it.
    serviceWorkers: 'block',
    launchOptions: chromiumOptions(),
  },
  projects: [
    { name: 'main', use: PHONE, testMatch: MAIN },
    { name: 'phone', use: PHONE, testIgnore: [DESKTOP, MODELS, ...MAIN, ...TIMED] },
    { name: 'desktop', use: { viewport: { width: 1280, height: 800 } }, testMatch: DESKTOP },
    { name: 'models', use: PHONE, testMatch: MODELS },
    { name: 'timed', use: PHONE, testMatch: TIMED },
  ],
})
