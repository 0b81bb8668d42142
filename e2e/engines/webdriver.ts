// A WebDriver client. In: the URL of a W3C WebDriver server, and capabilities. Out: a session that can open
// pages, run scripts, type and click.
import type { Browser } from './browser.ts'

/** The protocol's name for the member that holds an element's id. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'

interface Failure {
  readonly error: string
  readonly message: string
}

async function call<T>(method: 'POST' | 'DELETE', address: string, body?: unknown): Promise<T> {
  const response = await fetch(address, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  })
  const { value } = (await response.json()) as { value: T | Failure }
  if (response.ok) return value as T
  const { error, message } = value as Failure
  throw new Error(`WebDriver answered "${error}": ${message}`)
}

interface Session {
  readonly sessionId: string
  readonly capabilities: { readonly browserVersion: string }
}

export async function openSession(server: string, capabilities: object): Promise<Browser> {
  const asked = { capabilities: { alwaysMatch: capabilities } }
  const { sessionId, capabilities: granted } = await call<Session>('POST', `${server}/session`, asked)
  const session = `${server}/session/${sessionId}`
  const post = <T>(command: string, body: object) => call<T>('POST', `${session}/${command}`, body)
  const find = async (selector: string) => {
    const found = await post<Record<string, string>>('element', { using: 'css selector', value: selector })
    return `element/${found[ELEMENT]}`
  }
  return {
    version: granted.browserVersion,
    open: (url) => post('url', { url }),
    evaluate: (task, argument) =>
      post('execute/sync', { script: `return (${task})(arguments[0])`, args: [argument ?? null] }),
    type: async (selector, text) => post(`${await find(selector)}/value`, { text }),
    click: async (selector) => post(`${await find(selector)}/click`, {}),
    close: () => call('DELETE', session),
  }
}
