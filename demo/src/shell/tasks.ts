// Tasks. In: work that would block the page if done at once. Out: promises to await between its parts, so
// that the page can handle input and draw frames.

/** Resolves in a new task. */
export const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Resolves when the page is idle. Safari has no idle callbacks. */
export const idle = (): Promise<void> =>
  new Promise((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(() => resolve(), { timeout: 1000 })
    else setTimeout(resolve, 50)
  })

/**
 * Resolves in the task after the next frame. A hidden page has no frames, so there it resolves in the next
 * task.
 */
export const nextFrame = (): Promise<void> =>
  new Promise((resolve) => {
    if (document.hidden) setTimeout(resolve)
    else requestAnimationFrame(() => setTimeout(resolve))
  })
