// The shell. In: the static frame in the page as served. Out: the app in its place, with any text typed
// meanwhile.

/** True if earlier visits left conversations; first-paint.js finds out. */
export const isReturning = (): boolean => document.documentElement.dataset['returning'] !== undefined

/** Shows the rendered app, which was invisible until now, and removes the static frame, in one task. */
export function replaceShell(app: HTMLElement): void {
  const shell = app.querySelector('.shell')
  const typed = shell?.querySelector('textarea')
  const area = app.querySelector<HTMLTextAreaElement>('chat-composer textarea')
  const hadFocus = typed !== undefined && typed === document.activeElement
  delete app.dataset['shell']
  if (typed && area) {
    // Data from an earlier visit is already present.
    if (typed.value !== '') area.value = typed.value
    // Browsers without fields that grow with their content resize the field at this event.
    area.dispatchEvent(new Event('input'))
    if (hadFocus) {
      area.focus()
      area.setSelectionRange(typed.selectionStart, typed.selectionEnd)
    }
  }
  shell?.remove()
}
