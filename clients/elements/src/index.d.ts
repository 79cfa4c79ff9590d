export * from "./player.js";
export * from "./uploader.js";
