// The check of a picture's header for the chat page, as a script that it loads with the first picture.
export { checkPicture } from '../../core/formats/pictures/check-picture.ts'
