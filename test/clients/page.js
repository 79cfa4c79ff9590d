// What the pages of the tests have: our client, Uppy and tus-js-client.

import { Spool, uploadFile, verifyWebhook } from "@spool-video/client";
import Uppy from "@uppy/core";
import Tus from "@uppy/tus";
import * as tus from "tus-js-client";

/** film fetches a film of the page's server as a File. */
async function film(name) {
  return new File([await (await fetch(`/${name}`)).blob()], name, { type: "video/mp4" });
}

const post = async (path, body) => (await fetch(path, { method: "POST", body: JSON.stringify(body ?? {}) })).json();

Object.assign(window, { Spool, uploadFile, verifyWebhook, Uppy, Tus, tus, film, post });
