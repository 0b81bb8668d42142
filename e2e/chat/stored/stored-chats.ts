// Stored chats. In: conversations as records. Out: a page whose database contains them, as after earlier
// visits.
import { expect, type Page } from '@playwright/test'
import { openChat, ready } from '../chat-page.ts'

interface StoredChat {
  readonly id: string
  readonly title?: string
  /** Time in milliseconds since 1970. Default: now. */
  readonly updated?: number
  readonly messages: readonly Readonly<Record<string, string>>[]
}

/** Turns of plain text, `count` messages in total. */
export const turns = (count: number): StoredChat['messages'] =>
  Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? { role: 'user', content: `Question ${index} about the river and the moon` }
      : { role: 'assistant', content: `Answer ${index}. The *river* went by the old house.\n\n- one\n- two` },
  )

/** The page must be open and have created its database. It sees the chats when it is opened again. */
export async function storeChats(page: Page, chats: readonly StoredChat[]): Promise<void> {
  await page.evaluate(async (records) => {
    const opening = indexedDB.open('halfbyte-chat')
    await new Promise((done, fail) => {
      opening.onsuccess = done
      opening.onerror = fail
    })
    const writing = opening.result.transaction('conversations', 'readwrite')
    for (const record of records) {
      const filled = { title: record.id, updated: Date.now(), ...record }
      writing.objectStore('conversations').put(filled)
    }
    await new Promise((done) => {
      writing.oncomplete = done
    })
    opening.result.close()
    localStorage.setItem('halfbyte-chats', String(records.length))
  }, chats)
}

/** Titles of the conversations in the page's database. */
export const storedTitles = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const opening = indexedDB.open('halfbyte-chat')
    await new Promise((done, fail) => {
      opening.onsuccess = done
      opening.onerror = fail
    })
    const all = opening.result.transaction('conversations').objectStore('conversations').getAll()
    await new Promise((done) => {
      all.onsuccess = done
    })
    opening.result.close()
    return all.result.map(({ title }: { title: string }) => title)
  })

/** Opens a stored conversation of 120 messages; the page shows the last ones. */
export async function openLongChat(page: Page): Promise<void> {
  await openChat(page)
  await storeChats(page, [{ id: 'long', messages: turns(120) }])
  await page.reload()
  await ready(page)
  await expect(page.getByText('Answer 119')).toBeInViewport()
  await expect(page.getByText('Question 0 about')).toHaveCount(0)
}
