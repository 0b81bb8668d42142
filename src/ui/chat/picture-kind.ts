/** Whether a file is attached as a picture, not as a document. SVG is text, which models understand. */
export const isPictureFile = ({ type }: Blob): boolean =>
  type.startsWith('image/') && !type.startsWith('image/svg')
