// Lets the page draw while a long document is read.

/** Characters parsed between two pauses. */
export const AT_ONCE = 250_000

/** Resolves in a new task. Rejects with the signal's reason once it is aborted. */
export async function pause(signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve))
  signal?.throwIfAborted()
}
