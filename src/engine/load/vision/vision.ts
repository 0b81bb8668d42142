// The vision tower of a model: prepared from its headers, placed in the model's memory, and run on
// images.
import type { PackedEncoding } from '../../../core/abi/encodings.ts'
import type { RopeConfig } from '../../../core/arch/config/config.ts'
import { unbuiltVariant } from '../../../core/arch/config/fields.ts'
import type { Weights } from '../../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { ModelFile } from '../../../core/formats/readers.ts'
import { InputRows } from '../../../core/generate/schedule/input-rows.ts'
import type { Graph } from '../../../core/graph/nodes.ts'
import type { Plan, PlanRows } from '../../../core/graph/plan/plan.ts'
import type { Host } from '../../../core/runtime/host.ts'
import type { Arena } from '../../../core/runtime/memory/arena.ts'
import type { Pool } from '../../../core/runtime/pool.ts'
import { type CutPicture, type CutRules, cutRules, patchesOf } from '../../../core/vision/cut-picture.ts'
import { GGUF_NAMES, ggufTower } from '../../../core/vision/gguf-tower.ts'
import { HF_NAMES, hfTower, unbuiltClass } from '../../../core/vision/hf-tower.ts'
import { QWEN_NAMES, QWEN_WINDOWED_NAMES } from '../../../core/vision/qwen-tower.ts'
import { rowOrder } from '../../../core/vision/row-order.ts'
import {
  gather,
  gatheredWidth,
  hasGates,
  isPlaced,
  type Projector,
  patchesIn,
  pictureRows,
  type Sides,
  type Tower,
  towerRows,
} from '../../../core/vision/tower.ts'
import { projectorGraph, towerGraph } from '../../../core/vision/tower-graph.ts'
import { type TowerNames, towerWeights } from '../../../core/vision/tower-weights.ts'
import type { LoadRequest } from '../../wire/protocol.ts'
import type { WeightHooks } from '../load-weights.ts'
import type { ModelText, Sight } from '../loaded-model.ts'
import type { PreparedModel } from '../prepare.ts'
import type { EngineTools } from './engine-tools.ts'
import { cutOf } from './picture-file.ts'
import { RowMachine } from './row-machine.ts'
import { TowerSight } from './tower-sight.ts'

/** The parts of the engine that image input needs. */
interface SightHost {
  readonly pool: Pool
  readonly text: ModelText
  readonly yieldTask: () => Promise<void>
  readonly cutPicture: Host['cutPicture']
}

interface VisionOptions extends Pick<LoadRequest, 'weights' | 'imageTiles'> {
  /** The plan of the language model. */
  readonly modelPlan: Pick<Plan, 'tokens' | 'stateGroups'> & { readonly hidden: Pick<PlanRows, 'width'> }
}

/** The standard texts with which templates mark an image. */
const MARKS: Readonly<Partial<Record<Projector, string>>> = {
  gemma3: '<start_of_image>',
  qwen2vl_merger: '<|vision_start|><|image_pad|><|vision_end|>',
  'qwen2.5vl_merger': '<|vision_start|><|image_pad|><|vision_end|>',
}

export class Vision {
  /** The text with which chat templates mark an image. */
  readonly mark: string
  /** Rows that the language model reads in place of tokens. */
  readonly inputs: InputRows
  /** The tower, which reads patches, and the projector, which reads the tower's output. */
  readonly models: readonly [tower: PreparedModel, projector: PreparedModel]
  readonly #tower: Tower
  readonly #tools: EngineTools
  #machines: readonly RowMachine[] = []

  /** The error for a model's own tower of an unsupported class; undefined if its class is supported. */
  static readonly unbuilt = unbuiltClass

  /**
   * Reads no weight yet. Throws `architecture` for a file that is not a tower or another model's, and
   * `unsupported` for an unsupported tower.
   */
  constructor(file: ModelFile, tools: EngineTools, options: VisionOptions) {
    const { weights: policy, modelPlan, imageTiles = Number.POSITIVE_INFINITY } = options
    const isFolder = file.format === 'safetensors' && file.metadata.has('config')
    const own = isFolder ? hfTower(file, imageTiles) : ggufTower(file, imageTiles)
    const tower = { ...own, longestEdge: Math.min(own.longestEdge, imageTiles * own.imageSize) }
    const { width } = tower
    const { width: modelWidth } = modelPlan.hidden
    if (width !== modelWidth) {
      throw new HalfbyteError(
        'architecture',
        `${file.name} outputs rows of ${width} numbers but the model has rows of ${modelWidth}; pass the tower ` +
          'that belongs to the model',
        { width, modelWidth },
      )
    }
    const weights = towerWeights(file, tower, isFolder ? folderNames(tower) : GGUF_NAMES)
    const { graphBuilder } = tools
    const prepared = (graph: Graph, of: Weights, rows: number) =>
      prepare(file, graph, of, { rows, policy, tools, tower })
    this.#tower = tower
    this.#tools = tools
    const isWhole = tower.projector === 'gemma3'
    this.mark = MARKS[tower.projector] ?? '<image>'
    if (isWhole) checkRoom(tower, modelPlan)
    this.inputs = new InputRows(width, isWhole, isPlaced(tower))
    this.models = [
      prepared(towerGraph(tower, graphBuilder()), weights.tower, towerRows(tower)),
      prepared(projectorGraph(tower, graphBuilder()), weights.projector, pictureRows(tower)),
    ]
  }

  get weightsBytes(): number {
    return this.#machines.reduce((sum, { weightsBytes }) => sum + weightsBytes, 0)
  }

  get arenaBytes(): number {
    return this.#machines.reduce((sum, { arenaBytes }) => sum + arenaBytes, 0)
  }

  /** Throws `out-of-memory`, errors from reading weights, or the signal's reason. */
  async place(arena: Arena, hooks: WeightHooks): Promise<void> {
    const [tower, projector] = this.models
    const own = this.#tower
    const { layers, windows } = own
    const windowed = Array.from({ length: layers }, (_, layer) => windows?.isFull(layer) === false)
    const patches = { width: 3 * own.patchSize ** 2, isPlaced: isPlaced(own), windowed }
    const gathered = { width: gatheredWidth(own), isPlaced: false, windowed: [] }
    const before = tower.plan.slots.length
    const later = { ...hooks, onWeight: (done: number, all: number) => hooks.onWeight?.(before + done, all) }
    this.#machines = [
      await RowMachine.place(this.#tools, arena, tower, patches, hooks),
      await RowMachine.place(this.#tools, arena, projector, gathered, later),
    ]
  }

  /**
   * The rows [pictureRows][width] of an image's patches [patches][patchWidth]. `tile`: its side lengths in
   * pixels; default: those of the tower's tiles. After `place`.
   */
  encode(pool: Pool, patches: Float32Array, tile?: Sides): Float32Array {
    const [body, projector] = this.#machines as [RowMachine, RowMachine]
    const tower = this.#tower
    const sides = patchesIn(tower, tile)
    const rows = pictureRows(tower, sides)
    const { width } = body
    const given = new Float32Array((sides.width * sides.height + (tower.hasClass ? 1 : 0)) * width)
    const order = isPlaced(tower) ? rowOrder(tower, sides) : undefined
    if (order === undefined) given.set(patches, given.length - patches.length)
    else {
      for (const [row, patch] of order.patches.entries())
        given.set(patches.subarray(patch * width, (patch + 1) * width), row * width)
    }
    const states = body.run(pool, given, order)
    const gathered = new Float32Array(rows * projector.width)
    gather(tower, sides, (patch) => states.row(order?.rows[patch] ?? patch), gathered)
    const projected = projector.run(pool, gathered)
    const result = new Float32Array(rows * tower.width)
    for (let row = 0; row < rows; row++) result.set(projected.row(row), row * tower.width)
    return result
  }

  /** How the tower expects images to be split. */
  get rules(): CutRules {
    return cutRules(this.#tower)
  }

  patches(tile: CutPicture['tiles'][number]): Float32Array {
    return patchesOf(this.#tower, tile)
  }

  sight({ pool, text, yieldTask, cutPicture }: SightHost): Sight {
    const tower = this.#tower
    return new TowerSight({
      inputs: this.inputs,
      sidesOf: (tile) => {
        const { width, height } = patchesIn(tower, tile)
        return { width: width / tower.merge, height: height / tower.merge }
      },
      cut: (source, signal) => cutOf(source, this.rules, cutPicture, signal),
      encode: (tile) => this.encode(pool, this.patches(tile), tile),
      text,
      yieldTask,
    })
  }
}

function folderNames(tower: Tower): TowerNames {
  if (hasGates(tower)) return QWEN_WINDOWED_NAMES
  return isPlaced(tower) ? QWEN_NAMES : HF_NAMES
}

/**
 * Throws `unsupported` if the model cannot process, in one step, an image whose rows attend to each other:
 * too many rows, or too narrow a window.
 */
function checkRoom(tower: Tower, { tokens, stateGroups }: VisionOptions['modelPlan']): void {
  const rows = pictureRows(tower)
  const most = Math.min(tokens, ...stateGroups.map(({ window }) => window || tokens))
  if (rows > most) throw unbuiltVariant(tower.name, `${rows} rows for an image`, `at most ${most}`)
}

/**
 * Half of the pairs rotate by a patch's row and half by its column, each half with every second frequency.
 */
function towerRope(tower: Tower): RopeConfig {
  const none = { theta: 10_000, dims: 0, pairing: 'halves' } as const
  if (!isPlaced(tower)) return none
  const { hiddenSize, heads } = tower
  const dims = hiddenSize / heads
  const half = dims / 4
  const { theta } = none
  const factors = Array.from(
    { length: 2 * half },
    (_, pair) => theta ** ((4 * (pair % half) - 2 * pair) / dims),
  )
  return { ...none, dims, sections: [0, half, half], scaling: { type: 'factors', factors } }
}

function prepare(
  file: ModelFile,
  graph: Graph,
  weights: Weights,
  {
    rows,
    policy,
    tools,
    tower,
  }: {
    readonly rows: number
    readonly policy: LoadRequest['weights']
    readonly tools: EngineTools
    readonly tower: Tower
  },
): PreparedModel {
  const { chooseEncoding, compile, roleOf, weightOf } = tools
  const encodingOf = (name: string): PackedEncoding => {
    const { dtype, like = dtype } = weightOf(weights, name)
    return chooseEncoding(policy, roleOf(name), [like])
  }
  return {
    file,
    weights,
    // Read only when the model is placed: the layers have no state.
    config: {
      ...{ family: 'vision', name: file.name, hiddenSize: graph.output.shape[1], contextLength: rows },
      ...{ layers: 0, heads: 0, kvHeads: 0, headDim: 0, intermediateSize: 0, vocabSize: 0, normEpsilon: 0 },
      rope: towerRope(tower),
      tiedEmbeddings: true,
    },
    plan: compile(graph, { tokens: rows, logitRows: 1, encodingOf }),
    shardPlan: () => {
      throw new HalfbyteError('internal', 'a vision tower cannot be sharded')
    },
    parameters: 0,
    contextLength: rows,
    sampling: {},
    notes: [],
  }
}
