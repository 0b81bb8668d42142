// Loads an engine in a browser or in its own process.
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from '@playwright/test'
import { chromiumOptions } from '../../../../e2e/chromium.ts'
import type { LoadOrder, Run, Turn } from '../engines.ts'
import { heldBytes } from './memory.ts'
import type { NativeAnswer, NativeOrder, NativeRequest } from './native.child.ts'
import { pauseAll, resumeAll } from './pause.ts'

/** An engine with a model in it. */
export interface Runner {
  readonly loadMs: number
  /** `ids`: the prompt's tokens. Only the native engine reads them, because it has no tokenizer here. */
  run(prompt: string, decode: number, ids?: readonly number[]): Promise<Run>
  /** Runs a second turn, see `Loaded`; undefined if the engine has none. */
  turn(history: string, message: string): Promise<Turn | undefined>
  /** Memory that the engine's processes have gained since before it was loaded. */
  memoryBytes(): Promise<number | undefined>
  /**
   * Suspends its processes until `resume`, because some engines poll when idle. Does nothing on Windows.
   */
  pause(): Promise<void>
  resume(): Promise<void>
  close(): Promise<void>
}

/** A browser with the suite's page open and nothing loaded. */
export interface PageHost {
  readonly page: Page
  readonly version: string
  pids(type?: 'renderer'): Promise<number[]>
  close(): Promise<void>
}

export async function openPage(url: string): Promise<PageHost> {
  // A private window has too little storage for large models.
  const profile = await mkdtemp(join(tmpdir(), 'halfbyte-perf-'))
  const context = await chromium.launchPersistentContext(profile, chromiumOptions())
  const close = async () => {
    await context.close()
    await rm(profile, { recursive: true, force: true })
  }
  try {
    const browser = context.browser()
    if (browser === null) throw new Error('Chromium did not report its process id')
    const page = await context.newPage()
    page.on('pageerror', (error) => console.error(error.message))
    await page.goto(url)
    await page.waitForFunction(() => window.perf !== undefined)
    return {
      page,
      version: `Chromium ${browser.version()}`,
      pids: (type) => processesOf(browser, type),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function processesOf(browser: Browser, type?: 'renderer'): Promise<number[]> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  return processInfo.filter((each) => type === undefined || each.type === type).map(({ id }) => id)
}

export async function runInPage(url: string, order: LoadOrder): Promise<Runner> {
  const host = await openPage(url)
  const { page } = host
  try {
    const before = await heldBytes(await host.pids())
    const resume = async () => resumeAll(await host.pids('renderer'))
    const loadMs = await page.evaluate((asked) => window.perf.load(asked), order)
    return {
      loadMs,
      run: (prompt, decode) =>
        page.evaluate(([text, tokens]) => window.perf.run(text, tokens), [prompt, decode] as const),
      turn: (history, message) =>
        page.evaluate(([text, next]) => window.perf.turn(text, next), [history, message] as const),
      async memoryBytes() {
        const now = await heldBytes(await host.pids())
        return now === undefined || before === undefined ? undefined : now - before
      },
      pause: async () => pauseAll(await host.pids('renderer')),
      resume,
      async close() {
        // A browser that has died in the meantime has no processes to resume.
        await resume().catch(() => {})
        await host.close()
      },
    }
  } catch (error) {
    await host.close()
    throw error
  }
}

export interface NativeRunner extends Runner {
  /** Milliseconds of decoding `decode` more tokens of each prompt, all in the same batches. */
  together(prompts: readonly (readonly number[])[], decode: number): Promise<number>
}

/** llama.cpp, in a process that ends with it. */
export async function runNative(order: NativeOrder): Promise<NativeRunner> {
  const child = fork(fileURLToPath(new URL('./native.child.ts', import.meta.url)), { stdio: 'inherit' })
  const pids = child.pid === undefined ? [] : [child.pid]
  // A suspended process would not notice that this process has exited.
  process.once('exit', () => child.kill('SIGKILL'))
  try {
    const { baseBytes = 0, loadMs = 0 } = await ask(child, { type: 'load', order })
    return {
      loadMs,
      async run(prompt, decode, ids) {
        const { run } = await ask(child, { type: 'run', prompt, ids, decode })
        if (run === undefined) throw new Error('the process sent no run')
        return run
      },
      turn: async () => undefined,
      async together(prompts, decode) {
        const { togetherMs } = await ask(child, { type: 'together', prompts, decode })
        if (togetherMs === undefined) throw new Error('the process sent no time')
        return togetherMs
      },
      async memoryBytes() {
        const now = await heldBytes(pids)
        return now === undefined ? undefined : now - baseBytes
      },
      pause: async () => pauseAll(pids),
      resume: async () => resumeAll(pids),
      close: () => ended(child),
    }
  } catch (error) {
    await ended(child)
    throw error
  }
}

function ask(child: ChildProcess, request: NativeRequest): Promise<NativeAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      child.off('message', onMessage)
      child.off('exit', onExit)
      end()
    }
    const onMessage = (answer: unknown) => {
      const { failure } = answer as NativeAnswer
      settle(() => (failure === undefined ? resolve(answer as NativeAnswer) : reject(new Error(failure))))
    }
    const onExit = (code: number | null) => settle(() => reject(new Error(`the process ended with ${code}`)))
    child.on('message', onMessage)
    child.on('exit', onExit)
    child.send(request)
  })
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
