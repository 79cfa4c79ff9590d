import assert from "node:assert/strict";
import { test } from "node:test";

import { Webhook } from "standardwebhooks";

import { SpoolError, verifyWebhook } from "../dist/index.js";

const secret = "whsec_" + Buffer.from("a secret of twenty-four b").toString("base64");
const body = JSON.stringify({ type: "video.ready", timestamp: "2026-11-16T18:00:00Z", data: { id: "1", title: "Fällt der Regen" } });

function signed(at = new Date(), text = body, by = secret) {
  return {
    "webhook-id": "msg_1", "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(by).sign("msg_1", at, text),
  };
}

const refused = (promise) => assert.rejects(promise, (error) => error instanceof SpoolError && error.code === "invalid_signature");

// The other side is the library of those who wrote the standard.
test("signatures of Standard Webhooks are verified", async () => {
  const event = await verifyWebhook(body, signed(), secret);
  assert.equal(event.type, "video.ready");
  assert.equal((await verifyWebhook(new TextEncoder().encode(body), new Headers(signed()), secret)).data.title, "Fällt der Regen");
  const headers = Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), [value]]));
  assert.equal((await verifyWebhook(body, headers, secret)).type, "video.ready");
});

test("one of several signatures is enough, as after a rotation", async () => {
  const other = "whsec_" + Buffer.from("another secret, newer one").toString("base64");
  const headers = signed();
  headers["webhook-signature"] = `v1a,xx ${signed(new Date(), body, other)["webhook-signature"]} ${headers["webhook-signature"]}`;
  assert.equal((await verifyWebhook(body, headers, secret)).type, "video.ready");
});

test("everything else is refused", async () => {
  const old = new Date(Date.now() - 301_000), future = new Date(Date.now() + 302_000);
  await refused(verifyWebhook(body.replace("ready", "READY"), signed(), secret));
  await refused(verifyWebhook(body, signed(), "whsec_" + Buffer.from("wrong").toString("base64")));
  await refused(verifyWebhook(body, signed(old), secret));
  await refused(verifyWebhook(body, signed(future), secret));
  await refused(verifyWebhook(body, { ...signed(), "webhook-id": "msg_2" }, secret));
  await refused(verifyWebhook(body, { ...signed(), "webhook-timestamp": "NaN" }, secret));
  await refused(verifyWebhook(body, { ...signed(), "webhook-signature": "v1,!!! v1 v1, v2,AAAA" }, secret));
  await refused(verifyWebhook(body, {}, secret));
  assert.equal((await verifyWebhook(body, signed(old), secret, { now: old })).type, "video.ready");
});
