// Evaluators of losses.
import type { Evaluators } from '../evaluate.ts'
import { type Evaluation, given, intOf, stringOf, unfit } from '../ir/operator.ts'
import { countOf, reader, type Tensor, tensorOf } from '../ir/tensor.ts'
import { within } from '../operators/indexed.ts'
import { lines } from '../operators/order.ts'
import { lineByLine, logSoftmax } from './activations.ts'

/** -weight * log probability of each label; ignored labels weigh 0. The mean is over the weights. */
function lossOf({ node, inputs }: Evaluation, likelihoods: Tensor): Tensor {
  const labels = given({ node, inputs }, 1)
  const classes = likelihoods.dims[1] ?? 0
  const due = likelihoods.dims.toSpliced(1, 1)
  if (likelihoods.dims.length < 2 || `${labels.dims}` !== `${due}`)
    throw unfit(node, `labels of shape [${labels.dims}] do not fit scores of shape [${likelihoods.dims}]`)
  if (inputs[2] !== undefined && `${inputs[2].dims}` !== `${classes}`)
    throw unfit(node, `it has weights of shape [${inputs[2].dims}] for ${classes} classes`)
  const ignored = intOf(node, 'ignore_index', undefined)
  const [read, label] = [reader(likelihoods), reader(labels)]
  const weightOf = inputs[2] === undefined ? () => 1 : reader(inputs[2])
  const losses = new Float64Array(labels.data.length)
  let weights = 0
  const step = countOf(likelihoods.dims.slice(2))
  lines(likelihoods.dims, 1, (start, place) => {
    const own = label(place)
    if (own === ignored) return
    const at = within(node, own, classes)
    weights += weightOf(at)
    losses[place] = -weightOf(at) * read(start + at * step)
  })
  const reduction = stringOf(node, 'reduction', 'mean')
  if (reduction === 'none') return tensorOf(likelihoods.dtype, labels.dims, losses)
  const sum = losses.reduce((total, each) => total + each, 0)
  if (reduction !== 'sum' && reduction !== 'mean')
    throw unfit(node, `its reduction is ${reduction}, which does not exist`)
  return tensorOf(likelihoods.dtype, [], [reduction === 'sum' ? sum : sum / weights])
}

export const LOSSES: Evaluators = new Map([
  ['NegativeLogLikelihoodLoss', (context) => [lossOf(context, given(context, 0))]],
  [
    'SoftmaxCrossEntropyLoss',
    (context) => {
      const scores = given(context, 0)
      const classes = scores.dims[1] ?? 1
      const likelihoods = lineByLine(scores, classes, countOf(scores.dims.slice(2)), logSoftmax)
      return [lossOf(context, likelihoods), likelihoods].slice(0, context.node.outputs.length)
    },
  ],
])
