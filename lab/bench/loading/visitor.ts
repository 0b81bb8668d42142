// Starts a Chromium without DevTools that does one job of a bench server after another.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { chromium } from '@playwright/test'
import type { Connect } from 'vite'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import type { Job, Outcome } from './page.ts'

/** Hands jobs to the page that asks, and returns the outcomes. */
export class Exchange {
  #asked = Promise.withResolvers<void>()
  /** Serves the page that asked last. A reloaded page asks again. */
  #give: (job: Job) => void = () => undefined
  #told = Promise.withResolvers<Outcome>()

  /** Forgets closed pages. */
  reset(): void {
    this.#asked = Promise.withResolvers()
  }

  /** Resolves when a page is idle. */
  async idle(): Promise<void> {
    await this.#asked.promise
  }

  /** Waits for an idle page, then for the job's result. Throws the page's errors. */
  async run<T extends Outcome>(job: Job): Promise<T> {
    await this.#asked.promise
    this.#asked = Promise.withResolvers()
    this.#told = Promise.withResolvers()
    this.#give(job)
    const outcome = await this.#told.promise
    if ('error' in outcome) throw new Error(outcome.error)
    return outcome as T
  }

  readonly middleware: Connect.NextHandleFunction = async (request, response, next) => {
    if (request.url === '/job') {
      this.#give = (job) => response.end(JSON.stringify(job))
      this.#asked.resolve()
    } else if (request.url === '/outcome') {
      const body = await text(request)
      response.end()
      this.#told.resolve(JSON.parse(body))
    } else next()
  }
}

interface Visitor {
  readonly pid: number
  close(): Promise<void>
}

/** The profile is on disk, because without one, stored data would be in the browser's memory. */
export const newProfile = (): Promise<string> => mkdtemp(join(tmpdir(), 'halfbyte-loading-'))
export const removeProfile = (profile: string): Promise<void> =>
  rm(profile, { recursive: true, force: true, maxRetries: 5 })

/** Opens `url` in its own browser. */
export function visit(url: string, profile: string): Visitor {
  const { executablePath = chromium.executablePath(), args = [] } = chromiumOptions()
  const flags = ['--headless=new', `--user-data-dir=${profile}`, ...args, url]
  const browser: ChildProcess = spawn(executablePath, flags, { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => browser.once('exit', () => resolve()))
  return {
    pid: browser.pid ?? 0,
    async close() {
      browser.kill()
      await ended
    },
  }
}
