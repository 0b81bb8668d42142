// Chromium. In: this machine, or HALFBYTE_CHROMIUM with a browser's path. Out: launch options for the
// system's browser if there is one, otherwise for Playwright's download.
import { existsSync } from 'node:fs'
import { chromium, type LaunchOptions } from '@playwright/test'

const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Features that Playwright disables on Linux. Chromium only honours the last such list. */
const OFF = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]

/**
 * Address-bar suggestions are separate pages. Each window that a test opens would load two of them and
 * prestart a renderer, which takes a fifth of the browser tests' CPU time.
 */
const NEEDLESS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess']

/** Runs quietly, and as root in a container. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${[...OFF, ...NEEDLESS].join()}`,
  // Measures memory at once, not after the next garbage collection.
  '--enable-blink-features=ForceEagerMeasureMemory',
]

export function chromiumOptions(): LaunchOptions {
  const executablePath = process.env['HALFBYTE_CHROMIUM'] ?? SYSTEM.find(existsSync)
  return { args: FLAGS, ...(executablePath !== undefined && { executablePath }) }
}

/** A sentence with the command that installs Chromium; undefined if it is installed. */
export function missingChromium(): string | undefined {
  const path = chromiumOptions().executablePath ?? chromium.executablePath()
  return existsSync(path) ? undefined : `Chromium is missing (${path}); run "npm run setup -- chromium"`
}
