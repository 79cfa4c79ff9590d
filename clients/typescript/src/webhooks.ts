import { SpoolError } from "./errors.js";
import { type Call, type Http, segment } from "./http.js";
import type { Delivery, DeliveryState, NewWebhook, Webhook, WebhookEvent, WebhookPatch } from "./types.js";

/** Webhooks registers addresses that are told about videos. The key needs the scope admin. */
export class Webhooks {
  constructor(readonly http: Http) {}

  /** The answer alone has the secret. */
  create(webhook: NewWebhook, call: Call = {}): Promise<Webhook & { secret: string }> {
    return this.http.request("POST", "/api/webhook", { ...call, json: webhook, once: true });
  }

  async list(call: Call = {}): Promise<Webhook[]> {
    return (await this.http.request<{ webhooks: Webhook[] }>("GET", "/api/webhook", call)).webhooks;
  }

  get(id: string, call: Call = {}): Promise<Webhook> {
    return this.http.request("GET", `/api/webhook/${segment(id)}`, call);
  }

  patch(id: string, change: WebhookPatch, call: Call = {}): Promise<Webhook> {
    return this.http.request("PATCH", `/api/webhook/${segment(id)}`, { ...call, json: change });
  }

  delete(id: string, call: Call = {}): Promise<void> {
    return this.http.request("DELETE", `/api/webhook/${segment(id)}`, call);
  }

  /** The old secret signs as well for 24 hours. */
  rotateSecret(id: string, call: Call = {}): Promise<{ secret: string }> {
    return this.http.request("POST", `/api/webhook/${segment(id)}/rotate-secret`, { ...call, once: true });
  }

  /** Sends the event webhook.test. */
  test(id: string, call: Call = {}): Promise<void> {
    return this.http.request("POST", `/api/webhook/${segment(id)}/test`, { ...call, once: true });
  }

  /** What was sent, newest first. */
  async *deliveries(id: string, filter: { status?: DeliveryState; limit?: number } = {}, call: Call = {}): AsyncGenerator<Delivery> {
    for (let cursor: string | undefined; ;) {
      const page = await this.http.request<{ deliveries: Delivery[]; nextCursor?: string }>(
        "GET", `/api/webhook/${segment(id)}/deliveries`, { ...call, query: { ...filter, cursor } });
      yield* page.deliveries;
      if (!page.nextCursor) return;
      cursor = page.nextCursor;
    }
  }

  /** Sends a delivery again, with the same webhook-id. */
  replay(deliveryId: string, call: Call = {}): Promise<void> {
    return this.http.request("POST", `/api/webhook/delivery/${segment(deliveryId)}/replay`, { ...call, once: true });
  }
}

type HeaderSource = Headers | Record<string, string | string[] | undefined>;

/**
 * Checks the signature of a webhook (Standard Webhooks) and returns the event. body must be exactly
 * what was received, before any parsing. secret is what create returned, `whsec_…`.
 *
 * An event may come twice: `webhook-id` in the headers is the same then.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeaderSource,
  secret: string,
  options: { toleranceSeconds?: number; now?: Date } = {},
): Promise<WebhookEvent> {
  const id = headerOf(headers, "webhook-id"), timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (!id || !timestamp || !signatures) throw invalid("The headers webhook-id, webhook-timestamp and webhook-signature are required.");
  const age = (options.now ?? new Date()).getTime() / 1000 - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(age) > (options.toleranceSeconds ?? 300)) throw invalid("The webhook is too old, or from the future.");

  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), content);
  const key = await crypto.subtle.importKey("raw", bytesOf(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const signature of signatures.split(" ")) {
    const [kind, value = ""] = signature.split(",", 2);
    // crypto.subtle compares in constant time.
    if (kind === "v1" && await crypto.subtle.verify("HMAC", key, bytesOf(value), signed)) return JSON.parse(text) as WebhookEvent;
  }
  throw invalid("No signature of the webhook fits.");
}

function invalid(message: string): SpoolError {
  return new SpoolError("invalid_signature", message);
}

function headerOf(headers: HeaderSource, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

/** bytesOf decodes base64; nothing if it is none. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
