// What the types have to allow, and what they have to refuse: checked by the build, and never run.

import type { SpoolUploader as UploaderElement } from "../src/index.js";
import { SpoolPlayer, SpoolUploader } from "../src/react.js";

const uploader: UploaderElement = document.createElement("spool-uploader");
uploader.headers = { "X-CSRF": "a token" };
uploader.words = { choose: "Videos wählen" };
uploader.addEventListener("spool-uploaded", ({ detail }) => { document.title = detail.id + detail.file.name; });
// @ts-expect-error there is no such word
uploader.words = { chose: "Videos wählen" };

const player = document.createElement("spool-player");
player.goTo(3);
player.media.pause();

export const page = (
  <>
    <SpoolPlayer server="https://video.example.com" video="an id" muted start={3} onError={({ detail }) => { document.title = detail.message; }} />
    <SpoolUploader endpoint="/videos" single maxBytes={1000} onUploaded={({ detail }) => { document.title = detail.id; }} />
  </>
);
// @ts-expect-error it has to know where files go
export const wrong = <SpoolUploader />;
