// Disposal. In: nothing. Out: the symbol of `await using`, also where the browser has none yet.

/** Lowered `await using` falls back to the same registered symbol. */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)
