export { SpoolUploader } from "./uploading/element.js";
