// Lists and removes the sessions that are stored on this device.
import { SessionStore, type StoredSession } from './sessions.ts'

/** Every session that `Session.store` has stored on this device, oldest first. */
export async function storedSessions(): Promise<StoredSession[]> {
  const sessions = (await (await SessionStore.open())?.list()) ?? []
  return sessions.sort((left, right) => left.saved - right.saved)
}

/**
 * Removes a stored session. Does nothing if the name is unknown. Sessions that were restored from it
 * continue.
 */
export async function unstoreSession(name: string): Promise<void> {
  await (await SessionStore.open())?.remove(name)
}
