// End tokens. In: the ids of a vocabulary, by text. Out: the ids that end an answer, recognised by their
// spelling.

/**
 * Files name one or two ids, but models also end their turns with others; llama.cpp has the same list. The
 * last texts are padding for code or the beginning of the next file, which also end an answer.
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

/**
 * `idOf` returns the id of a token that may end an answer. `</s>` closes a tag in vocabularies where it does
 * not control the model, such as Gemma's.
 */
export function endTokens(
  idOf: (text: string) => number | undefined,
  isSpecial: (id: number) => boolean,
): Set<number> {
  const texts = new Set<string>(END_TEXTS)
  const has = (text: string) => idOf(text) !== undefined
  // In vocabularies with these tokens, `<|end|>` ends a message but not the answer.
  if ((has('<|call|>') || has('<|calls|>')) && (has('<|return|>') || has('<|flush|>')))
    texts.delete('<|end|>')
  const closing = idOf('</s>')
  if (has('<|tool_response>') || (closing !== undefined && !isSpecial(closing))) texts.delete('</s>')
  const ids = new Set<number>()
  for (const text of texts) {
    const id = idOf(text)
    if (id !== undefined) ids.add(id)
  }
  return ids
}
