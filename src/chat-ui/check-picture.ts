// The check of a picture's header for the chat page, as a script that it loads with the first picture.
export { checkPicture } from '../formats/pictures/check-picture.ts'
