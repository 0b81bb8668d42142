// Disposal. In: nothing. Out: the symbol of `await using`, also for browsers that lack it.

/** Compiled `await using` falls back to the same registered symbol. */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)
