// Saving and sharing. In: a text and its name. Out: a download, or the share sheet.

/** Saves the text as a file. */
export function saveFile(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser reads it after this task.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** True if the browser can open the system's share sheet. */
export const canShare = (): boolean => typeof navigator.share === 'function'

/** Opens the share sheet. Closing it is not an error. */
export async function share(title: string, text: string): Promise<void> {
  try {
    await navigator.share({ title, text })
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'AbortError')) throw error
  }
}
