// Chromium. In: this machine. Out: launch options for the system's browser if there is one, otherwise
// Playwright's download.
import { existsSync } from 'node:fs'
import type { LaunchOptions } from '@playwright/test'

const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Quiet, and allowed to run as root in a container. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Memory is measured at once, not after the next collection.
  '--enable-blink-features=ForceEagerMeasureMemory',
]

export function chromiumOptions(): LaunchOptions {
  const executablePath = SYSTEM.find(existsSync)
  return { args: FLAGS, ...(executablePath !== undefined && { executablePath }) }
}
