// Checks an image's header for the chat page, in a script that is loaded with the first image.
export { checkPicture } from '../../core/formats/pictures/check-picture.ts'
