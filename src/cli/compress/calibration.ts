// Calibration for the command line. In: a text file and flags. Out: windows of ids, and the flags themselves.
import type { Command } from 'commander'
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { linesOf, type TextPieces } from '../../base/lines.ts'
import { isObject } from '../../base/values.ts'
import { modelTokenizer } from '../../engine/load/model-text.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import { calibrationWindows } from '../../shrink/calibrate/windows.ts'
import { threadCount, whole } from '../options.ts'
import { readPieces } from '../text-file.ts'

export interface CalibrationFlags {
  readonly windows: number
  readonly context?: number
  readonly threads: number | 'auto'
}

/** Tokens of a window when nobody says how many. */
const WINDOW_TOKENS = 512

export function withCalibrationOptions(command: Command): Command {
  return command
    .option('--windows <n>', 'most windows of the text to run', whole(1), 128)
    .option(
      '--context <tokens>',
      `tokens of a window; default: ${WINDOW_TOKENS} or the model's limit`,
      whole(2),
    )
    .option(
      '--threads <n>',
      'threads that compute; auto measures which number is fastest',
      threadCount,
      'auto',
    )
}

/** Throws `format` for a text that cannot be read or has not one window. */
export async function readWindows(
  path: string,
  prepared: PreparedModel,
  flags: CalibrationFlags,
): Promise<number[][]> {
  const tokenizer = modelTokenizer(prepared.file, prepared.plan.logits.width)
  const length = flags.context ?? Math.min(WINDOW_TOKENS, prepared.config.contextLength)
  return calibrationWindows(textsOf(path), tokenizer, { windows: flags.windows, length })
}

/** A text, or of a .jsonl file the `text` of each line. */
async function* textsOf(path: string): AsyncGenerator<TextPieces> {
  if (!path.endsWith('.jsonl')) {
    yield readPieces(path)
    return
  }
  let number = 0
  for await (const line of linesOf(readPieces(path))) {
    number++
    if (line.trim() === '') continue
    const value = parsed(line)
    if (isObject(value) && typeof value['text'] === 'string') yield [value['text']]
    else {
      throw new HalfbyteError(
        'format',
        `${path}: line ${number} is not an object with a text; give lines like {"text": "..."}, or plain text under another name`,
        { line: number },
      )
    }
  }
}

function parsed(line: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}
