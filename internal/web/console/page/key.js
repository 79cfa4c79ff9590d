// The API key that the user entered, or the session of a user who is signed in, and what they may do.

const storageKey = "spool.key";

// channel connects the tabs of this page. Browsers offer it to pages of the same origin
// only, which could read the storage as well.
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("spool") : null;

let onForgotten = () => {};
let onArrived = () => {};

// whenForgotten sets what happens after the user has made another tab forget the key.
export function whenForgotten(callback) {
  onForgotten = callback;
}

// whenArrived sets what happens after another tab has sent its key.
export function whenArrived(callback) {
  onArrived = callback;
}

export function key() {
  return sessionStorage.getItem(storageKey) ?? localStorage.getItem(storageKey) ?? "";
}

// isRemembered reports whether the key outlives this tab.
export function isRemembered() {
  return localStorage.getItem(storageKey) !== null;
}

// useKey throws if text cannot be sent as a key. remember keeps it after the browser is
// closed; otherwise it lives as long as this tab and those that were opened from it.
export function useKey(text, remember) {
  try {
    new Headers({ "X-API-KEY": text });
  } catch {
    throw new Error("An API key cannot contain such characters.");
  }
  forgetKey();
  (remember ? localStorage : sessionStorage).setItem(storageKey, text);
}

export function forgetKey() {
  sessionStorage.removeItem(storageKey);
  localStorage.removeItem(storageKey);
}

// forgetEverywhere forgets the key in all tabs.
export function forgetEverywhere() {
  forgetKey();
  channel?.postMessage({ forget: true });
}

// askOtherTabs waits a moment for the key of another tab. A link that is opened in a new tab
// begins without the storage of the old one. A key that comes later is told to whenArrived.
export async function askOtherTabs() {
  if (!channel) return;
  channel.postMessage({ ask: true });
  for (let n = 0; n < 10 && !key(); n++) await new Promise((resolve) => setTimeout(resolve, 20));
}

channel?.addEventListener("message", ({ data }) => {
  const own = sessionStorage.getItem(storageKey);
  if (data.ask && own) channel.postMessage({ key: own });
  if (data.key && !key()) {
    sessionStorage.setItem(storageKey, data.key);
    onArrived();
  }
  if (data.reload) location.reload();
  if (data.forget && (key() || me)) {
    forgetKey();
    onForgotten();
  }
});

// reloadOthers has other tabs load their page again: the person works in another tenant now.
export function reloadOthers() {
  channel?.postMessage({ reload: true });
}

// me is what the server says about the key: {id, tenant, scopes, maxFileBytes, defaultResolutions, profiles}. If the user is signed in
// and has entered no key, it has a session, too: {id, name, expiresAt, tenants}.
let me = null;

export function setMe(identity) {
  me = identity;
}

export function whoAmI() {
  return me;
}

// may reports whether the key has a scope.
export function may(scope) {
  return me?.scopes.includes(scope) ?? false;
}

// isOperator reports whether the key may see the whole service: all tenants, workers and the queue. The server decides.
export function isOperator() {
  return may("admin") && me.tenant === "default";
}
