// Wrappers for React 18 and newer. The elements are loaded in the browser alone, so that pages may be made on a server.

import { createElement, useEffect, useRef } from "react";

export function SpoolPlayer(props) {
  return useSpoolElement("spool-player", props, { onError: "spool-error" }, [], () => import("./player.js"));
}

export function SpoolUploader(props) {
  const events = { onCreated: "spool-created", onProgress: "spool-progress", onUploaded: "spool-uploaded", onError: "spool-error" };
  return useSpoolElement("spool-uploader", props, events, ["headers", "words"], () => import("./uploader.js"));
}

const attributeNames = { className: "class", maxBytes: "max-bytes", atOnce: "at-once", showTitle: "show-title" };

// useSpoolElement makes an element: some props are listeners, some are properties, and the others are attributes.
function useSpoolElement(name, { elementRef, style, children, ...props }, events, properties, load) {
  const own = useRef(null), latest = useRef(props);
  latest.current = props;
  useEffect(() => { load(); }, []);
  useEffect(() => {
    const node = own.current;
    if (typeof elementRef === "function") elementRef(node);
    else if (elementRef) elementRef.current = node;
    const stop = new AbortController();
    for (const [prop, event] of Object.entries(events)) node.addEventListener(event, (e) => latest.current[prop]?.(e), { signal: stop.signal });
    return () => stop.abort();
  }, []);
  const values = properties.map((property) => props[property]);
  useEffect(() => {
    customElements.whenDefined(name).then(() => properties.forEach((property, i) => { if (values[i] !== undefined && own.current) own.current[property] = values[i]; }));
  }, values);
  const attributes = { ref: own, style };
  for (const [prop, value] of Object.entries(props)) {
    if (prop in events || properties.includes(prop) || value === undefined || value === null || value === false) continue;
    attributes[attributeNames[prop] ?? prop] = value === true ? "" : value;
  }
  return createElement(name, attributes, children);
}
