// Shell blocks in the manual. In: a block's text. Out: its commands, and their words.

/** A block's commands: joins lines that end in a backslash, removes comments, splits at `&&`. */
export const commandsOf = (text: string): string[] =>
  text
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => line.replace(/(?:^|\s)#.*/, '').split(' && '))
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** A command's words, as split by a shell. */
export const wordsOf = (command: string): string[] =>
  [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word.replaceAll(/['"]/g, ''))
