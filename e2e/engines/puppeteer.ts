// Puppeteer. In: the machine's Chromium and Firefox. Out: both behind one interface, Firefox over WebDriver
// BiDi.
import { existsSync } from 'node:fs'
import { chromium } from '@playwright/test'
import puppeteer, { type LaunchOptions } from 'puppeteer-core'
import { chromiumOptions } from '../chromium.ts'
import type { Browser, Engine } from './browser.ts'

const FIREFOX = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find(existsSync)

async function launch(options: LaunchOptions): Promise<Browser> {
  const browser = await puppeteer.launch({ headless: true, ...options })
  const page = await browser.newPage()
  return {
    version: await browser.version(),
    open: async (url) => {
      await page.goto(url)
    },
    evaluate: async (task, argument) =>
      (await page.evaluate(`(${task})(${JSON.stringify(argument)})`)) as Awaited<ReturnType<typeof task>>,
    type: (selector, text) => page.type(selector, text),
    click: (selector) => page.click(selector),
    close: () => browser.close(),
  }
}

export const chromiumEngine: Engine = {
  name: 'Chromium',
  launch: () => {
    const { executablePath = chromium.executablePath(), args } = chromiumOptions()
    return launch({ browser: 'chrome', executablePath, args })
  },
}

export const firefoxEngine: Engine = {
  name: 'Firefox',
  ...(FIREFOX === undefined && { lacks: 'no Firefox is installed (npm run setup firefox)' }),
  launch: () => launch({ browser: 'firefox', executablePath: FIREFOX }),
}
