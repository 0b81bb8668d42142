// Stored sessions. In: a conversation's session. Out: its state after the page was closed, so that the model
// need not process the conversation again.
import { type Engine, type Session, storedSessions, unstoreSession } from '../../../../src/index.ts'

/** A conversation as one model sees it. */
export interface Place {
  readonly conversation: string
  readonly system: string
}

/** Maximum bytes of all stored sessions together. The oldest are removed first. */
const BUDGET_BYTES = 256e6
const PREFIX = 'chat '

const prefixOf = (conversation: string): string => `${PREFIX}${conversation} `
const nameOf = ({ conversation, system }: Place): string => prefixOf(conversation) + system

/**
 * Undefined if nothing is stored for this model. The conversation is then processed again, so nothing here is
 * an error.
 */
export function restoreKept(engine: Engine, place: Place): Promise<Session | undefined> {
  return engine.restoreSession(nameOf(place)).catch(() => undefined)
}

export async function keep(engine: Engine, session: Session, place: Place): Promise<void> {
  const { stateBytes } = await engine.memory()
  if (stateBytes > BUDGET_BYTES / 2) return
  await session.store(nameOf(place))
  await shrink()
}

/** Removes the stored sessions of one conversation, or of all. */
export async function unkeep(conversation?: string): Promise<void> {
  const prefix = conversation === undefined ? PREFIX : prefixOf(conversation)
  const kept = await storedSessions().catch(() => [])
  for (const { name } of kept) if (name.startsWith(prefix)) await unstoreSession(name)
}

async function shrink(): Promise<void> {
  const kept = (await storedSessions()).filter(({ name }) => name.startsWith(PREFIX))
  let bytes = kept.reduce((sum, { size }) => sum + size, 0)
  for (const { name, size } of kept) {
    if (bytes <= BUDGET_BYTES) return
    await unstoreSession(name)
    bytes -= size
  }
}
