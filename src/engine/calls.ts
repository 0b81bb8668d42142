// Calls. In: an endpoint, and the service behind it or nothing. Out: the service's methods on the other side, errors of the same class included.
import { fromFailure, toFailure } from './failure.ts'
import type { CallAnswer, CallMessage } from './protocol.ts'

/** A worker, its own global scope, or a port. */
export interface Endpoint {
  postMessage(message: unknown, transfer: Transferable[]): void
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void
  /** Ports hold back what comes until then. */
  start?(): void
}

/** A service on another thread: every answer is a promise. */
export type Remote<Service> = {
  readonly [Name in keyof Service]: Service[Name] extends (...args: infer Args) => infer Answer
    ? (...args: Args) => Promise<Awaited<Answer>>
    : never
}

/** The methods of the service that answers at `endpoint`. Ports among the arguments are transferred. */
export function callService<Service>(endpoint: Endpoint): Remote<Service> {
  const pending = new Map<number, (answer: CallAnswer) => void>()
  let calls = 0
  listen(endpoint, (answer: CallAnswer) => {
    pending.get(answer.answered)?.(answer)
    pending.delete(answer.answered)
  })
  const method =
    (name: string) =>
    (...args: unknown[]) =>
      new Promise((resolve, reject) => {
        const call = calls++
        const message: CallMessage = { call, name, args }
        endpoint.postMessage(
          message,
          args.filter((arg) => arg instanceof MessagePort),
        )
        pending.set(call, ({ failure, value }) =>
          failure === undefined ? resolve(value) : reject(fromFailure(failure)),
        )
      })
  return new Proxy({}, { get: (_, name) => method(String(name)) }) as Remote<Service>
}

/** Answers the calls that come to `endpoint`. What else is sent there passes by. */
export function answerCalls(service: object, endpoint: Endpoint): void {
  const methods = service as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>
  const answer = (message: CallAnswer) => endpoint.postMessage(message, [])
  listen(endpoint, async ({ call, name, args }: CallMessage) => {
    if (call === undefined) return
    try {
      answer({ answered: call, value: await methods[name]!(...args) })
    } catch (thrown) {
      answer({ answered: call, failure: toFailure(thrown) })
    }
  })
}

function listen<Message>(endpoint: Endpoint, take: (message: Message) => void): void {
  endpoint.addEventListener('message', ({ data }) => data && take(data))
  endpoint.start?.()
}
