// Waits for a promise, or for an error once the seconds are over.

export function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`nothing came within ${Math.round(seconds)} s`)),
      seconds * 1000,
    )
  })
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
