// Waits for a promise, and throws once the time is up.

export function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result within ${Math.round(seconds)} s`)), seconds * 1000)
  })
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
