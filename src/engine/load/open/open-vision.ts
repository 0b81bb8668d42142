// Opens a model's vision tower with the script that is loaded for it.
import { roleOf, weightOf } from '../../../core/arch/tensors/names.ts'
import type { ByteSource } from '../../../core/base/bytes.ts'
import type { EngineNote } from '../../../core/base/engine-notes.ts'
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

interface PreparedVision {
  /** Absent for a model that is loaded without its own tower. */
  readonly vision?: reader.Vision
  readonly notes: readonly EngineNote[]
}

type PrepareVision = (weights: LoadRequest['weights'], model: Pick<PreparedModel, 'plan'>) => PreparedVision

export const ENGINE_TOOLS: EngineTools = {
  ...{ graphBuilder, compile, chooseEncoding, roleOf, weightOf },
  ...{ placeModel, RowsView, SequenceState },
}

/**
 * Opens the tower that the request names, or otherwise the model's `own` one, and returns a function that
 * prepares it for a model. A model whose own tower is of an unsupported class is loaded without it, with a
 * note. Rejects with errors from opening, `architecture` for a file that is not a tower, and `unsupported`
 * for another unsupported tower.
 */
export async function openVision(
  { vision, imageTiles }: Pick<LoadRequest, 'vision' | 'imageTiles'>,
  own: ModelFile | undefined,
  open: Open<{ readonly sources: readonly ByteSource[] }>,
  host: Pick<Host, 'loadOnnx' | 'loadVision' | keyof LoadReaders>,
  signal?: AbortSignal,
): Promise<PrepareVision> {
  const given = vision === undefined ? undefined : (await openAny(vision, open, host, { signal })).file
  const file = given?.tower ?? given ?? own
  if (file === undefined) return () => ({ notes: [] })
  const { Vision } = (await host.loadVision()) as typeof reader
  const unbuilt = given === undefined ? Vision.unbuilt(file) : undefined
  if (unbuilt !== undefined) return () => ({ notes: [unbuiltVision(unbuilt.message)] })
  return (weights, { plan }) => ({
    vision: new Vision(file, ENGINE_TOOLS, { weights, imageTiles, modelPlan: plan }),
    notes: [],
  })
}

const unbuiltVision = (reason: string): EngineNote => ({
  code: 'unbuilt-vision',
  text: `the model was loaded without its vision tower: ${reason}`,
  values: { reason },
})
