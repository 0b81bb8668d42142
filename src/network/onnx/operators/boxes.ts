// Operators of detectors: suppressing boxes that overlap, and pooling the image inside each box.
import { define, intOf, type Operator } from '../ir/operator.ts'
import { FLOATS } from '../ir/tensor.ts'

/** [selected, 3]: image, class and box, sorted by class and then by descending score. */
const suppression: Operator = define({
  name: 'NonMaxSuppression',
  since: 10,
  inputs: [2, 5],
  attributes: { center_point_box: 'int' },
  dtypes: [['f32'], ['f32'], ['i64'], ['f32']],
  infer: () => [{ dtype: 'i64' }],
})

/** [boxes, channels, output_height, output_width]. */
const roiAlign: Operator = define({
  name: 'RoiAlign',
  since: 10,
  inputs: [3, 3],
  attributes: {
    coordinate_transformation_mode: 'string',
    mode: 'string',
    output_height: 'int',
    output_width: 'int',
    sampling_ratio: 'int',
    spatial_scale: 'float',
  },
  dtypes: [FLOATS, FLOATS, ['i64']],
  infer({ node, inputs: [x, boxes] }) {
    const [count] = boxes?.dims ?? []
    const channels = x?.dims?.[1]
    const size = [intOf(node, 'output_height', 1), intOf(node, 'output_width', 1)]
    const isKnown = count !== undefined && channels !== undefined
    return [x && { dtype: x.dtype, dims: isKnown ? [count, channels, ...size] : undefined }]
  },
})

export const BOXES: readonly Operator[] = [suppression, roiAlign]
