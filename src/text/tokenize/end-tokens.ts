// End tokens. In: the ids of a vocabulary by text. Out: those that end an answer, known by how they are written.

/**
 * Files name one or two ids, but models end their turns with others too (llama.cpp keeps the same list). The last ones
 * fill up code or begin the next file, which ends an answer as well.
 */
const END_TEXTS = [
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|flush|>',
  '<|calls|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '</s>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '<|end_of_text|>',
  '<end_of_utterance>',
  '<eos>',
  '<turn|>',
  '<|tool_response>',
  '<｜end▁of▁sentence｜>',
  '<|fim_pad|>',
  '<fim-pad>',
  '<fim_pad>',
  '<PAD>',
  '[PAD]',
  '<|fim_repo|>',
  '<|repo_name|>',
  '<fim-repo>',
  '<REPO>',
  '<reponame>',
  '<|file_sep|>',
] as const

/** `idOf` gives the id of a token that may end an answer. */
export function endTokens(idOf: (text: string) => number | undefined): Set<number> {
  const texts = new Set<string>(END_TEXTS)
  const has = (text: string) => idOf(text) !== undefined
  // Where these exist, `<|end|>` ends a message but not the answer.
  if ((has('<|call|>') || has('<|calls|>')) && (has('<|return|>') || has('<|flush|>')))
    texts.delete('<|end|>')
  if (has('<|tool_response>')) texts.delete('</s>')
  const ids = new Set<number>()
  for (const text of texts) {
    const id = idOf(text)
    if (id !== undefined) ids.add(id)
  }
  return ids
}
