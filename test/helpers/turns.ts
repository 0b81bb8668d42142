// Turns. In: a number. Out: a promise that resolves after so many turns of the event loop: a wait in steps,
// the same on a busy machine.

/** Tasks that are due, messages, and what sockets received are handled between two turns. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
