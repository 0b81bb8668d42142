// Opens a model's vision tower with the script that is loaded for it.
import { roleOf, weightOf } from '../../../core/arch/tensors/names.ts'
import type { ByteSource } from '../../../core/base/bytes.ts'
import type { LoadReaders, ModelFile } from '../../../core/formats/readers.ts'
import { RowsView } from '../../../core/generate/schedule/step-buffer.ts'
import { graphBuilder } from '../../../core/graph/builder.ts'
import { compile } from '../../../core/graph/compile-graph.ts'
import type { Host } from '../../../core/runtime/host.ts'
import { SequenceState } from '../../../core/state/sequence-state.ts'
import { chooseEncoding } from '../../../core/weights/choose-encoding.ts'
import type { LoadRequest } from '../../wire/protocol.ts'
import { placeModel } from '../place-model.ts'
import type { PreparedModel } from '../prepare.ts'
import type { EngineTools } from '../vision/engine-tools.ts'
import type * as reader from '../vision/vision.ts'
import { type Open, openAny } from './open-any.ts'

type PrepareVision = (weights: LoadRequest['weights'], model: Pick<PreparedModel, 'plan'>) => reader.Vision

export const ENGINE_TOOLS: EngineTools = {
  ...{ graphBuilder, compile, chooseEncoding, roleOf, weightOf },
  ...{ placeModel, RowsView, SequenceState },
}

/**
 * Opens the tower that the request names, or otherwise the model's `own` one, and returns a function that
 * prepares it for a model; undefined if there is none. Rejects with errors from opening, `architecture` for a
 * file that is not a tower, and `unsupported` for an unsupported tower.
 */
export async function openVision(
  { vision, imageTiles }: Pick<LoadRequest, 'vision' | 'imageTiles'>,
  own: ModelFile | undefined,
  open: Open<{ readonly sources: readonly ByteSource[] }>,
  host: Pick<Host, 'loadOnnx' | 'loadVision' | keyof LoadReaders>,
  signal?: AbortSignal,
): Promise<PrepareVision | undefined> {
  const given = vision === undefined ? undefined : (await openAny(vision, open, host, { signal })).file
  const file = given?.tower ?? given ?? own
  if (file === undefined) return undefined
  const { Vision } = (await host.loadVision()) as typeof reader
  return (weights, { plan }) => new Vision(file, ENGINE_TOOLS, { weights, imageTiles, modelPlan: plan })
}
