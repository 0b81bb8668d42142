// The check of an image's header for the chat page, as a script that it loads with the first image.
export { checkPicture } from '../../core/formats/pictures/check-picture.ts'
