// The conversation database. In: nothing. Out: the open database, its records, and why a write failed.
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import type { Conversation } from './conversations.ts'
import { DRAFT, type Draft } from './drafts.ts'

export const NAME = 'halfbyte-chat'

/** `revision` differs after each write. Records of earlier releases have none. */
export type Stored = Conversation & { readonly revision?: string }

/** Drafts are stored next to the conversations: one transaction replaces them with the complete answer. */
export interface Schema extends DBSchema {
  conversations: { key: string; value: Stored | Draft; indexes: { updated: number } }
}

export type Database = IDBPDatabase<Schema>

/** Undefined if the browser denies storage. */
export async function openDatabase(): Promise<Database | undefined> {
  try {
    return await openDB<Schema>(NAME, 1, {
      upgrade(database) {
        database.createObjectStore('conversations', { keyPath: 'id' }).createIndex('updated', 'updated')
      },
      // Another tab may run a newer version, or the user may clear the site's data.
      blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
    })
  } catch {
    return undefined
  }
}

/** The keys of all drafts. */
export const draftKeys = (): IDBKeyRange => IDBKeyRange.bound(DRAFT, `${DRAFT}\uffff`)

/** True if a write failed because the device or the browser's share of it is full. */
export const isFull = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'QuotaExceededError'

/** True if the browser has closed the database, which can be opened again. */
export const isClosed = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'InvalidStateError'
