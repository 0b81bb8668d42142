// Opens or loads `<model>` for commands that need the model itself, without sessions.

import { givenPlace } from '../../../core/formats/names/named-files.ts'
import type { BuiltModel } from '../../../engine/load/build-model.ts'
import { buildModel } from '../../../engine/load/build-model.ts'
import { withStateBudget } from '../../../engine/load/memory-need.ts'
import { openAdapters, openAny } from '../../../engine/load/open/open-any.ts'
import type { OpenFiles } from '../../../engine/load/open/requested-files.ts'
import { keepsFloats, type PreparedModel, prepareModel } from '../../../engine/load/prepare.ts'
import type { ForwardRows } from '../../../engine/score/perplexity.ts'
import type { LoadRequest } from '../../../engine/wire/protocol.ts'
import { asFamily } from '../../shrink/match/as-family.ts'
import { openModelFiles, placedAdapters, readText } from '../files.ts'
import { nodeHost } from '../node-host.ts'
import type { EngineFlags } from '../options.ts'
import { clearProgress, showProgress } from '../terminal/output.ts'

interface PrepareFlags
  extends Pick<EngineFlags, 'weights' | 'context' | 'lora' | 'dtype' | 'architecture'>,
    Partial<Pick<EngineFlags, 'kv'>> {
  readonly beyondTraining?: true
  readonly forPack?: true
}

/** Opens `<model>`, reads its headers, and closes it after `use`. */
export async function withPrepared<T>(
  model: string,
  flags: PrepareFlags,
  signal: AbortSignal,
  use: (prepared: PreparedModel) => Promise<T>,
): Promise<T> {
  const opened: OpenFiles[] = []
  const open = async (source: LoadRequest['source']) => {
    const files = await openModelFiles(String(source), {
      signal,
      dtype: flags.dtype,
      onProgress: showProgress,
    }).finally(clearProgress)
    opened.push(files)
    return files
  }
  try {
    const { dtype } = flags
    const found = await openAny(givenPlace(model), open, nodeHost(), {
      signal,
      bfloats: keepsFloats(flags),
      dtype,
    })
    // Packs, calibration and adapters use the canonical names of weights.
    const isNamed = flags.forPack === true || (flags.lora?.length ?? 0) > 0
    const file = isNamed ? await asFamily(found.file, signal) : found.file
    const adapters = await openAdapters(await placedAdapters(flags.lora), open, nodeHost(), signal)
    const options = { ...flags, adapters, kvCache: flags.kv, contextLength: flags.context, signal }
    return await use(await prepareModel(file, options))
  } finally {
    for (const files of opened) await files.close()
  }
}

/** Loads `<model>` for evaluation, and stops its threads after `use`. */
export async function withModel<T>(
  model: string,
  flags: EngineFlags,
  signal: AbortSignal,
  use: (built: BuiltModel, prepared: PreparedModel) => Promise<T>,
): Promise<T> {
  return withPrepared(model, { ...flags, beyondTraining: true }, signal, async (whole) => {
    const { prepared } = withStateBudget({ prepared: whole, draft: undefined }, flags.stateBytes)
    const hooks = { signal, onProgress: showProgress }
    const chatTemplate = flags.chatTemplate && (await readText(flags.chatTemplate))
    const options = { ...flags, chatTemplate, host: nodeHost() }
    const built = await buildModel(prepared, options, hooks).finally(clearProgress)
    try {
      return await use(built, prepared)
    } finally {
      await built.dispose()
    }
  })
}

/** Runs tokens from an empty state. Each call uses its own sequence. */
export function forwardRows(built: BuiltModel): ForwardRows {
  return async (tokens, onRow, signal) => {
    const sequence = built.newSequence()
    try {
      sequence.setTokens(tokens)
      await built.scheduler.forward({ sequence, logits: 'all', onLogits: onRow, signal })
    } finally {
      sequence.release()
    }
  }
}
