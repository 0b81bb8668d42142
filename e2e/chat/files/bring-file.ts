// Adds a file to the chat page as a user does.
import type { Locator, Page } from '@playwright/test'

export interface BroughtFile {
  readonly name: string
  readonly mimeType: string
  readonly buffer: Buffer
}

/** Drops a file on the composer of the page, or pastes it there. */
export const bring = (page: Page, type: 'drop' | 'paste', file: BroughtFile): Promise<void> =>
  bringTo(page.locator('chat-composer textarea'), type, file)

/**
 * Drops a file on a field, or pastes it there. The page gets its bytes as a string, because Playwright would
 * wrap each number of an array.
 */
export const bringTo = (field: Locator, type: 'drop' | 'paste', { name, mimeType, buffer }: BroughtFile) =>
  field.evaluate(
    (target, [kind, fileName, content, mime]) => {
      const dataTransfer = new DataTransfer()
      const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0))
      dataTransfer.items.add(new File([bytes], fileName, { type: mime }))
      const init = { bubbles: true, cancelable: true, composed: true }
      const event =
        kind === 'drop'
          ? new DragEvent('drop', { ...init, dataTransfer })
          : new ClipboardEvent('paste', { ...init, clipboardData: dataTransfer })
      target.dispatchEvent(event)
    },
    [type, name, buffer.toString('base64'), mimeType] as const,
  )

/** Picks a file with the composer's button. */
export async function pick(page: Page, file: BroughtFile): Promise<void> {
  const chosen = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Attach files' }).click()
  await (await chosen).setFiles(file)
}
