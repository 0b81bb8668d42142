// Reads calibration text: plain text, or JSON lines of texts and conversations.
import { readMessages, readTools } from '../../../adapters/openai-request.ts'
import { requestFields } from '../../../adapters/request-fields.ts'
import { linesOf } from '../../../core/base/bytes.ts'
import { HalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { isObject } from '../../../core/base/values.ts'
import type { Tokenizer } from '../../../core/text/tokenize/tokenizer.ts'
import { modelText } from '../../../engine/load/model-text.ts'
import type { CalibrationText } from '../../shrink/calibrate/calibration-windows.ts'
import { readPieces } from '../files.ts'

/**
 * The texts of a file, read lazily. In a .jsonl file, each line has a `text`, or `messages` in the form of
 * OpenAI's API, optionally with `tools`. Conversations are rendered with the model's own chat template.
 * `tokenizer`: undefined for an encoder, which has no conversations. Throws `format` for any other line, and
 * `unsupported` for messages that the template cannot render or that are given to an encoder.
 */
export async function* calibrationTexts(
  path: string,
  tokenizer: Tokenizer | undefined,
): AsyncGenerator<CalibrationText> {
  if (!path.endsWith('.jsonl')) {
    yield { form: 'text', text: readPieces(path) }
    return
  }
  let side: ReturnType<typeof modelText> | undefined
  let number = 0
  for await (const line of linesOf(readPieces(path))) {
    number++
    if (line.trim() === '') continue
    const value = parsed(line)
    if (isObject(value) && typeof value['text'] === 'string') yield { form: 'text', text: [value['text']] }
    else if (isObject(value) && Array.isArray(value['messages'])) {
      if (tokenizer === undefined) throw noChat(path, number)
      side ??= modelText(tokenizer)
      yield { form: 'chat', text: conversation(value, side, path, number) }
    } else throw wrongLine(path, number)
  }
}

/** All turns, including the end of the last one, without a generation prompt. */
function conversation(
  said: Record<string, unknown>,
  { renderPrompt }: ReturnType<typeof modelText>,
  path: string,
  line: number,
): string {
  try {
    const { messages, tools } = requestFields(said)
    return renderPrompt(readMessages(messages), { tools: readTools(tools), addGenerationPrompt: false })
  } catch (cause) {
    const { code } = cause instanceof HalfbyteError ? cause : { code: 'format' as const }
    throw new HalfbyteError(
      code,
      `${path}: line ${line} cannot be rendered with the model's chat template (${reasonOf(cause)}); fix the line, or remove it`,
      { line },
      { cause },
    )
  }
}

const noChat = (path: string, line: number): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${path}: line ${line} has messages, and an encoder has no chat template to render them; give lines like {"text": "..."}`,
    { line },
  )

const wrongLine = (path: string, line: number): HalfbyteError =>
  new HalfbyteError(
    'format',
    `${path}: line ${line} is not an object with a text or messages; give lines like {"text": "..."} or {"messages": [{"role": "user", "content": "..."}]}, or plain text under another name`,
    { line },
  )

function parsed(line: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}
