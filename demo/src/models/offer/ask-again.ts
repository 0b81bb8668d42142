// Asking again. In: a declined question, and the model chosen to answer it. Out: the question, asked again
// once that model is ready, even after a reload of the page.
import { chat, started } from '../../conversation/start.ts'
import { sessionItem, writeSessionItem } from '../../shell/storage.ts'
import { nextTask } from '../../shell/tasks.ts'

/** The tab's waiting question. A click in another tab, or days ago, is not consent to a download. */
const KEY = 'halfbyte-ask-again'

interface Waiting {
  /** The model's address. */
  readonly address: string
  /** The conversation whose last question is waiting. */
  readonly id: string
  /** Its number of messages. */
  readonly count: number
}

function waitingQuestion(): Waiting | undefined {
  try {
    const { address, id, count } = JSON.parse(sessionItem(KEY) ?? '{}')
    const isValid = typeof address === 'string' && typeof id === 'string' && typeof count === 'number'
    return isValid ? { address, id, count } : undefined
  } catch {
    return undefined
  }
}

/** The address of the model for which the open conversation's question is waiting. */
export function awaited(): string | undefined {
  const waiting = waitingQuestion()
  return waiting !== undefined && isOpen(waiting) ? waiting.address : undefined
}

/** False once the user has written something else, edited the question, or opened another conversation. */
function isOpen({ id, count }: Waiting): boolean {
  const { id: open, messages } = chat.conversation
  return open === id && messages.length === count && messages.at(-1)?.declined === true
}

/** Loads the model like the model picker, then asks the open conversation's last question again. */
export function askAgainWith(address: string): void {
  const { id, messages } = chat.conversation
  writeSessionItem(KEY, JSON.stringify({ address, id, count: messages.length } satisfies Waiting))
  watch()
  void chat.load({ kind: 'address', address })
}

let isWatching = false

function watch(): void {
  if (isWatching) return
  isWatching = true
  chat.addEventListener('change', onChange)
}

function forget(): void {
  isWatching = false
  chat.removeEventListener('change', onChange)
  writeSessionItem(KEY, undefined)
}

async function onChange(): Promise<void> {
  // A failed load passes through other phases in one task.
  await nextTask()
  if (!isWatching) return
  const waiting = waitingQuestion()
  if (waiting === undefined || !isOpen(waiting)) return forget()
  const { phase, used } = chat.model
  if (phase.name !== 'ready' || chat.isAnswering) return
  forget()
  // Otherwise the user has cancelled the load, or chosen another model.
  const isLoaded = used?.choice.kind === 'address' && used.choice.address === waiting.address
  if (isLoaded) await chat.regenerate()
}

/** After a reload: continues the download for which the question is waiting. */
async function resume(): Promise<void> {
  const waiting = waitingQuestion()
  if (waiting === undefined) return
  await started
  await chat.model.settled
  if (!isOpen(waiting)) return forget()
  watch()
  const { phase, used } = chat.model
  // If loading the model may have crashed the page, the page asks the user first.
  if (phase.name === 'ready' && used?.choice.kind === 'embedded')
    void chat.load({ kind: 'address', address: waiting.address })
  else void onChange()
}

void resume()
