// Chromium. In: this machine, or HALFBYTE_CHROMIUM with a browser's path. Out: launch options for the
// system's browser if there is one, otherwise Playwright's download.
import { existsSync } from 'node:fs'
import { chromium, type LaunchOptions } from '@playwright/test'

const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** What Playwright turns off on Linux. Chromium takes only the last of such lists. */
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
 * The suggestions of the address bar are their own pages. Each window that a test opens would load two of
 * them, and start a process for a page that may follow: a fifth of the processor time of the browser tests.
 */
const NEEDLESS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess']

/** Quiet, and allowed to run as root in a container. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${[...OFF, ...NEEDLESS].join()}`,
  // Memory is measured at once, not after the next collection.
  '--enable-blink-features=ForceEagerMeasureMemory',
]

export function chromiumOptions(): LaunchOptions {
  const executablePath = process.env['HALFBYTE_CHROMIUM'] ?? SYSTEM.find(existsSync)
  return { args: FLAGS, ...(executablePath !== undefined && { executablePath }) }
}

/** The command that installs Chromium, in a sentence; undefined if it is there. */
export function missingChromium(): string | undefined {
  const path = chromiumOptions().executablePath ?? chromium.executablePath()
  return existsSync(path) ? undefined : `Chromium is missing (${path}); run "npm run setup -- chromium"`
}
